"""Sentences of `becalm watch` about one run."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.load.delay import OWN_CPU, PARALLEL_CPU, UNLOADED, Delay
from becalm.load.run_report import LEVELS, Watched
from becalm.load.waterfall import IO, MEMORY, QUEUE, SLOWER, STEAL, UNEXPLAINED, Bar
from becalm.nouns.codec import plain_dict
from becalm.wording import culprits, study_findings
from becalm.wording.numbers import counted, duration, percent
from becalm.wording.printable import process_name
from becalm.wording.run_problems import signal_name

SMALL = 0.02
"""The delay up to which no cause is named, a fraction: clocks that count ticks resolve no less."""

LEAST_SHARE = 0.01
"""The share of a CPU below which a program is not named."""

LEAST_NS = 100_000_000
"""The time below which the CPU time of other programs means nothing, ns: ten ticks of 10 ms (USER_HZ, proc(5))."""

MOST = 5
"""The number of other programs that are named."""

CAUSES = {
    SLOWER: "slower execution: more CPU time than unloaded",
    QUEUE: "waiting for a CPU",
    IO: "waiting for devices",
    MEMORY: "swapping and freeing memory",
    STEAL: "time that the hypervisor gave to others",
}
"""The names of the bars in a sentence."""


BASES = {
    UNLOADED: "the time of an unloaded run",
    OWN_CPU: "its own CPU time",
    PARALLEL_CPU: "what its own CPU time takes in parallel",
}
"""The names of the references in a sentence."""


def answer(watched: Watched) -> str:
    """Return the time of the run, its delay and the main causes, one sentence per line."""
    return "\n".join([*_lines(watched), *_waits(watched), *_around(watched)])


def _waits(watched: Watched) -> Iterator[str]:
    """Yield the sentences about whom the program waited for."""
    if watched.waits is not None:
        yield culprits.waiting("It", plain_dict(watched.waits))
    if watched.disk_waits is not None:
        yield culprits.disk_waiting("It", plain_dict(watched.disk_waits))
    if watched.memory_waits is not None:
        yield culprits.memory_waiting("It", plain_dict(watched.memory_waits))
    if watched.network_use is not None:
        yield culprits.network_use("it", plain_dict(watched.network_use))


def _around(watched: Watched) -> Iterator[str]:
    """Yield the sentences about emulation and settings."""
    if watched.emulated:
        yield study_findings.emulated("", {"reason": watched.emulated})
    if watched.settings or watched.standing:
        yield study_findings.settings("", {"settings": watched.settings, "standing": watched.standing}, "this run")


def _lines(watched: Watched) -> Iterator[str]:
    run = watched.run
    took = f"{watched.program} took {duration(run.took_ns)}"
    if run.outcome != "ok":
        yield f"{took} and {ending(watched)}."
    else:
        yield f"{took}{'' if watched.delay is None else ': ' + factor(watched.delay)}."
    if watched.waterfall is None or watched.delay is None:
        yield "There is no reference: its CPU time is not known. Give its time on an idle machine with --reference."
        return
    falls = watched.waterfall
    if falls.refused:
        yield falls.refused
        return
    largest = falls.largest
    if largest is None or falls.delay_ns <= SMALL * falls.wall_ns:
        yield "Nothing that was counted delayed it."
        return
    if largest.name == UNEXPLAINED:
        yield (
            f"Most of the delay, {duration(largest.ns or 0.0)} of {duration(falls.delay_ns)}, is unexplained: it "
            "slept, or waited for the network, for other processes or for what is not known (see below)."
        )
        return
    part, whole = duration(largest.ns or 0.0), duration(falls.delay_ns)
    if part == whole:
        yield f"All of the delay, {whole}, was {CAUSES[largest.name]}."
        return
    most = "Most" if _leads(largest, falls.delay_ns) else "The largest part"
    yield f"{most} of the delay, {part} of {whole}, was {CAUSES[largest.name]}."


def _leads(bar: Bar, delay_ns: float) -> bool:
    return (bar.ns or 0.0) > delay_ns / 2


def factor(delay: Delay) -> str:
    """Return the delay as a factor, with its reference."""
    base = BASES[delay.reference]
    digits = 2 if delay.factor < 10 else 1 if delay.factor < 100 else 0
    times = f"{delay.factor:,.{digits}f}"
    return f"{times} times {base}, {duration(delay.reference_ns)}"


def ending(watched: Watched) -> str:
    """Return how a failed run ended."""
    run = watched.run
    if run.outcome == "timeout":
        return "was killed when its time was over"
    if run.outcome == "aborted":
        return "was interrupted"
    if run.outcome == "refused":
        return "could not be started"
    if run.status is not None and run.status < 0:
        return f"was killed by signal {-run.status}{signal_name(-run.status)}"
    return f"failed with exit code {run.status}"


def known(watched: Watched) -> str:
    """Return the sentence on how much the kernel reveals about the program."""
    return f"What is known about the program (level {watched.level} of {len(LEVELS) - 1}): {LEVELS[watched.level]}."


def cost(watched: Watched) -> str:
    """Return the sentence about the cost of observing and the samples that were lost."""
    if watched.cost is None or watched.load is None:
        return ""
    sentence = f"Observing took {duration(watched.load.cost_ns or 0)} of CPU time"
    if watched.samples:
        sentence += f", {percent(watched.cost)} % of one CPU, for {counted(watched.samples, 'sample')}"
    else:
        sentence += " before and after the run, without a sample between"
    lost = [f"{counted(watched.dropped, 'sample')} dropped"] if watched.dropped else []
    lost += [f"{counted(watched.skipped, 'sample')} left out"] if watched.skipped else []
    return sentence + (f"; {', '.join(lost)} so as not to disturb the run." if lost else ".")


def consumers(watched: Watched) -> str:
    """Return the other programs that used most CPU time, in one line; empty where none is worth naming."""
    wall = watched.load.interval_ns if watched.load is not None else watched.run.took_ns
    if wall < LEAST_NS:
        return ""
    worth = [consumer for consumer in watched.consumers if consumer.cpu_ns >= LEAST_SHARE * wall][:MOST]
    return ", ".join(
        f"{process_name(consumer.name)} ({consumer.pid}) {100 * consumer.cpu_ns / wall:.0f} %" for consumer in worth
    )


CPUS_OWN = {
    "LOC": "timers of the CPUs",
    "RES": "wake-ups by other CPUs",
    "CAL": "calls by other CPUs",
    "TLB": "TLB shootdowns",
    "IWI": "IRQ work",
    "NMI": "non-maskable",
    "PMI": "performance counters",
    "TRM": "heat",
    "MCP": "machine checks",
    "HYP": "hypervisor",
}
"""Words for the sources of /proc/interrupts that are not devices, as x86 calls them (arch/x86/kernel/irq.c)."""


def interrupters(watched: Watched) -> str:
    """Return the devices with the most interrupts per second, in one line; empty where the time is unknown."""
    wall = watched.load.interval_ns if watched.load is not None else watched.run.took_ns
    if wall <= 0:
        return ""
    rates = (
        f"{_source(interrupter.name)} {_rate(interrupter.count * 1e9 / wall)}"
        for interrupter in watched.interrupters[:MOST]
    )
    return ", ".join(rates)


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.3g}/s"


def _source(name: str) -> str:
    """Return the name of a device without its interrupt number; other sources in words."""
    number, colon, device = name.partition(":")
    return device if colon and number.isdecimal() else CPUS_OWN.get(name, name)
