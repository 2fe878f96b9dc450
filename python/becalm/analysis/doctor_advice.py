"""Advice about a machine before measuring on it: facts and noise in, ranked sentences out.

Each subject has a function with a few rules; `advise` collects and ranks their advice. There is no advice on what is in
order, so a good machine gets a short answer, and none that repeats the list of abilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from becalm.load.cpu_competition import quota_cpus
from becalm.nouns.knob import catalogue, find
from becalm.results.doctor import Advice, Noise, Severity
from becalm.wording.numbers import percent

Facts = Mapping[str, Any]

QUIET_CV = 0.01
NOISY_CV = 0.05
"""The coefficients of variation of fixed work: a machine is quiet up to the first, and plainly noisy above the
second."""

STEAL = 0.005
OTHERS_CPUS = 0.2
WAIT_SHARE = 0.01
"""The shares of time, and number of CPUs, from which a disturbance is worth a sentence."""

ENOUGH_INTERRUPTS = 4
"""The fewest interrupts for the rule: with two CPUs, four hit the same one by chance on one machine of eight."""

PROCESSOR_SHARE = 0.7
PERSISTENT = 0.3


def advise(facts: Facts, noise: Noise | None) -> tuple[Advice, ...]:
    """Return all advice, warnings first; advice of the same severity is in the order of RULES."""
    advice = [row for rule in RULES for row in rule(facts, noise)]
    order = list(Severity)
    return tuple(sorted(advice, key=lambda row: order.index(row.severity)))


def fact(facts: Facts, subject: str, *names: str) -> Any:
    """Return a fact by its path, or None when it is not known."""
    value: Any = facts.get(subject)
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def apply_sentence(name: str, when: str = "While you measure") -> str:
    """Return the sentence that tells how to apply a setting while measuring, with the value that `tune` tries."""
    knob = find(catalogue(), name)
    consent = " --dangerous" if knob.group == "dangerous" else ""
    rights = " --sudo" if knob.needs_rights(knob.tuned_value or "") else ""
    return f"{when}: becalm apply{rights}{consent} --set {name}={knob.tuned_value}; becalm reset{rights} undoes it."


def _noise(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    if noise is None:
        return
    cv = f"{percent(noise.cv)} %"
    if noise.cv <= QUIET_CV:
        yield Advice(Severity.GOOD, "quiet", f"This machine is quiet: the same work varies by {cv} only.")
        return
    severity = Severity.WARNING if noise.cv > NOISY_CV else Severity.NOTE
    source = ""
    if (noise.wait_share or 0) > WAIT_SHARE:
        source = f"Runs waited for a CPU in {percent(noise.wait_share or 0)} % of their time."
    elif noise.processor_share is not None and noise.processor_share > PROCESSOR_SHARE:
        source = "CPU time varies with it, so the processor itself runs faster and slower; nobody waits."
    if noise.lag_one is not None and noise.lag_one > PERSISTENT:
        source += " Slow and fast runs come in stretches: programs measured one after the other get different ones."
    way_out = "becalm compare runs programs in random order, so that all are exposed to the same noise."
    yield Advice(severity, "noisy", f"The same work varies by {cv} here.", source.strip(), way_out)


def _guest(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    if fact(facts, "virtualisation", "guest") is not True:
        return
    hypervisor = fact(facts, "virtualisation", "hypervisor")
    model = fact(facts, "cpu", "model")
    names = ", ".join(
        word for word in (model, f"hypervisor {hypervisor}" if hypervisor else "hypervisor hidden") if word
    )
    yield Advice(
        Severity.NOTE,
        "guest",
        f"This is a virtual machine ({names}).",
        "Other guests share the processor; that part of the noise comes from outside, and no setting here removes it.",
        "What helps: paired comparison (becalm compare), and more runs.",
    )


def _steal(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    share = noise.steal_share if noise else None
    if share is not None and share > STEAL:
        yield Advice(
            Severity.WARNING,
            "steal",
            f"The hypervisor took {percent(share)} % of the CPU time away during the measurement.",
            "Stolen time is in every run time, and differs from run to run.",
            "Use fewer virtual CPUs than the host has to give, a dedicated host, or measure at another time.",
        )


def _container(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    container = fact(facts, "virtualisation", "container")
    if container is None:
        return
    yield Advice(
        Severity.NOTE,
        "container",
        f"This runs in a container ({container['kind']}, by {container['evidence']}).",
        "It shares kernel, CPUs and settings with all others on its host, and cannot see them.",
        "Measure outside, or give the container its own CPUs (for Docker: --cpuset-cpus).",
    )


def _quota(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    if (cpus := quota_cpus(facts)) is not None:
        quota, period = fact(facts, "cgroups", "cpu_limit").split()
        file = fact(facts, "cgroups", "cpu_limit_file") or "cpu.max"
        yield Advice(
            Severity.WARNING,
            "quota",
            f"Our control group may use {cpus:g} CPUs' time ({quota} of each {period} us, by {file}).",
            "A program that needs more is stopped until the next period: whole milliseconds that are not its own.",
            "Lift the quota while you measure (for Docker: --cpuset-cpus instead of --cpus).",
        )


def _windows(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    if fact(facts, "virtualisation", "windows_subsystem"):
        yield Advice(
            Severity.NOTE,
            "windows",
            "This is the Windows Subsystem for Linux.",
            "Windows schedules the virtual CPUs and governs their frequency; files below /mnt are slow.",
            "Set the Windows power plan to high performance, and keep files in the Linux file system.",
        )


def _frequency(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    governor = fact(facts, "cpu", "frequency", "governor")
    driver = fact(facts, "cpu", "frequency", "driver")
    steady = ("performance", "userspace")
    if governor and any(word not in steady for word in governor.split(", ")):
        yield Advice(
            Severity.WARNING,
            "governor",
            f"The frequency follows the load (driver {driver}, governor {governor}).",
            "A program runs slower until the frequency has risen, and how fast depends on what ran before.",
            apply_sentence("governor"),
        )
    if fact(facts, "cpu", "frequency", "turbo") is True:
        yield Advice(
            Severity.NOTE,
            "turbo",
            "Turbo is on.",
            "How far the frequency rises depends on temperature and on how many cores are busy.",
            apply_sentence("turbo"),
        )


def _smt(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    if fact(facts, "cpu", "smt_active") is True:
        yield Advice(
            Severity.NOTE,
            "smt",
            "Each core runs two or more threads (SMT).",
            "Whatever runs on the sibling takes up to half of the core.",
            apply_sentence("smt", "Keep the siblings idle, or switch them off"),
        )


def _hybrid(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    fast, slow = fact(facts, "cpu", "performance_cpus"), fact(facts, "cpu", "efficiency_cpus")
    if fast and slow:
        yield Advice(
            Severity.WARNING,
            "hybrid",
            f"There are fast cores (CPUs {fast}) and slow ones (CPUs {slow}).",
            "The same program takes up to twice as long on a slow one.",
            f"Choose: --set cpus={fast}",
        )


def _clock(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    clock = fact(facts, "clocks", "current")
    if clock in ("hpet", "acpi_pm", "jiffies", "refined-jiffies"):
        yield Advice(
            Severity.WARNING,
            "clocksource",
            f"The clock is {clock}.",
            "Each reading takes microseconds, in the measured program too.",
            "The kernel has given up the time stamp counter; dmesg says why, booting with tsc=reliable overrides it.",
        )


def _interrupts(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    fired, cpu = fact(facts, "interrupts", "fired"), fact(facts, "interrupts", "arrive_at")
    count = fact(facts, "cpu", "count")
    if fired and fired >= ENOUGH_INTERRUPTS and count and count > 1 and cpu.isdigit():
        yield Advice(
            Severity.NOTE,
            "interrupts",
            f"All {fired} interrupts of this machine arrive at CPU {cpu}.",
            "What runs there is interrupted for every device, what runs elsewhere for none. A CPU that was offline for "
            "a while, or a mask that was narrow, leaves them so.",
            "becalm status lists those that becalm has moved. irqbalance --oneshot or a restart spreads them.",
        )


def _services(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    for service in fact(facts, "services", "running") or ():
        loads = service["role"] == "loads"
        yield Advice(
            Severity.WARNING if loads else Severity.NOTE,
            "service",
            f"{service['name']} is running (process {', '.join(str(pid) for pid in service['pids'][:3])}).",
            f"It {service['matters']}.",
            f"{service['way_out'][0].upper()}{service['way_out'][1:]}." if loads else apply_sentence("services"),
        )


def _load(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    others = noise.others_cpus if noise else None
    if others is not None and others > OTHERS_CPUS:
        yield Advice(
            Severity.WARNING,
            "load",
            f"Other programs kept {others:.1f} CPUs busy during the measurement.",
            "They take CPU time, caches and memory bandwidth from what is measured.",
            "End them, or measure when the machine is idle; ps -eo pcpu,comm --sort=-pcpu names them.",
        )


LEAST_SWAPPED = 2**20
"""The fewest bytes in swap worth a sentence: a few pages stay there for ever once the memory has been full."""


def _memory(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    used = sum(area["used_bytes"] for area in fact(facts, "memory", "swap") or ())
    if used >= LEAST_SWAPPED:
        yield Advice(
            Severity.NOTE,
            "swap",
            f"{used / 2**20:.0f} MiB are swapped out.",
            "A page that must come back from disk costs a run milliseconds.",
            apply_sentence("swap", "Free memory, then bring them back"),
        )
    if fact(facts, "memory", "ksm") is True:
        yield Advice(
            Severity.NOTE,
            "ksm",
            "The kernel merges equal pages (KSM).",
            "Its scanning takes CPU time, and writing to a merged page costs a fault.",
            apply_sentence("ksm"),
        )


def _cpus(facts: Facts, noise: Noise | None) -> Iterator[Advice]:
    count, allowed = fact(facts, "cpu", "count"), fact(facts, "cpu", "allowed_count")
    if count and allowed and allowed < count:
        isolated = fact(facts, "cpu", "isolated")
        why = f" CPUs {isolated} are isolated: --set cpus={isolated} measures there." if isolated else ""
        yield Advice(
            Severity.NOTE,
            "affinity",
            f"We may use {allowed} of {count} CPUs ({fact(facts, 'cpu', 'allowed')}).",
            "Programs measured here inherit that." + why,
        )


RULES: tuple[Callable[[Facts, Noise | None], Iterator[Advice]], ...] = (
    _load,
    _services,
    _steal,
    _quota,
    _noise,
    _hybrid,
    _clock,
    _interrupts,
    _frequency,
    _guest,
    _container,
    _windows,
    _smt,
    _memory,
    _cpus,
)
"""The rules in the order in which their advice is shown; a new rule is a function and a row."""
