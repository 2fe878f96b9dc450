"""Sentences about timers and the clock that they read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from becalm.results.clock import ClockCheck, FoundPair, TimerCell, WorkLength
from becalm.wording.numbers import counted, duration, percent

DOUBTS = {
    "fallback": "The processor's own counter cannot be used here; the timers read the operating system's clock.",
    "trapped": "A hypervisor emulates each read of the counter: nothing short can be timed.",
    "not_invariant": "The counter may change its rate with the core's clock, and the kernel does not keep time by it.",
    "kernel_left_it": "The kernel does not keep time by the counter: it has found it wrong, or was told not to use it.",
    "fences_do_not_hold": "Fences do not hold back what follows them: regions may overlap with the code after them.",
    "reads_do_not_wait": "Reads of the counter did not wait for the instructions before them.",
    "out_of_step": "The counters of two processors are out of step: regions that change their processor are void.",
    "unlike_cores": "The cores of this machine differ: these results hold only for cores like the measured one.",
    "not_pinned": "The thread could not be bound to one processor.",
    "quantum_unknown": "The step by which the counter advances could not be determined.",
}
"""The doubts about a clock, by the engine's kinds (crates/becalm-core/src/clock/trust.rs)."""

INTERRUPTED = "Interrupted: missing cells were not measured. The same command with --resume measures them."
UNKNOWN = "?"
PLACES = {
    "L1": "with all code and data near",
    "L2": "with code from the second cache",
    "L3": "with code from the third cache",
    "evicted": "with code evicted",
}


def trusted(trust: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the statements of trust in a clock, each with its value; unknown ones are left out."""
    yield "counter", f"{trust['source']}, {trust['hz'] / 1e6:.3f} MHz within {trust['ppm']:.2f} ppm"
    if trust["fallback"]:
        yield "not the processor's own", trust["fallback"]
    if trust["quantum_ns"] is not None:
        yield "step", f"{duration(trust['quantum_ns'])} ({trust['quantum_ticks']:.4g} ticks)"
    yield "empty region", f"{duration(trust['smallest_cost_ns'])} at least, median {duration(trust['median_cost_ns'])}"
    if trust["invariant"] is not None:
        yield "constant rate", "yes" if trust["invariant"] else "not announced"
    if trust["clocksource"]:
        yield "the kernel's clock", trust["clocksource"]
    if trust["hypervisor"] is not None:
        yield "hypervisor", "yes" if trust["hypervisor"] else "no"
    fences = trust["fences"]
    if fences["ratio"] is not None:
        yield "fences", f"two chains take {fences['ratio']:.1f} times as long with them (2 where they hold)"
    check = trust["check"]
    yield "core's clock", f"{trust['core_ghz']:.2f} GHz now, {trust['core_over_counter']:.2f} times the counter's"
    yield "self-check", f"a multiplication takes as long as {check['ratio']:.2f} additions"
    yield "core's cycles", trust["no_cycles"] or "can be counted"
    yield "processor", f"{trust['cpu']}{'' if trust['pinned'] else ', not pinned'}"
    yield "at", datetime.fromtimestamp(trust["at"]).strftime("%Y-%m-%d %H:%M")


def length(work_length: WorkLength | None) -> str:
    """Return a length of work, with the median of its searches where that differs."""
    if work_length is None:
        return UNKNOWN
    if work_length.typical_ns < 1.05 * work_length.ns:
        return duration(work_length.ns)
    # The unit is not repeated as long as the number is easy to read.
    typical = f"{work_length.typical_ns:.3g}" if work_length.typical_ns < 999.5 else duration(work_length.typical_ns)
    return f"{duration(work_length.ns)} (typ. {typical})"


def shortest(cell: TimerCell) -> str:
    """Return t_min, marked with an asterisk where the counter's step alone decides it."""
    return length(cell.t_min) + ("*" if cell.quantum_binds and cell.t_min is not None else "")


def place(flush: str) -> str:
    """Return the place where code and timer come from, as a heading."""
    near = PLACES.get(flush, "with code from memory")
    return f"{near[0].upper()}{near[1:]} ({flush})"


COLUMNS = (
    ("t_min", "t_min: the shortest work that varies by less than 1 %; typ.: the median of several searches."),
    ("t_min", "*: t_min is 50 steps of the counter, so no timer that reads this counter can do better."),
    ("CV", "CV: coefficient of variation of the large fresh set that confirmed t_min."),
    ("t_diff", "t_diff: the smallest difference that is seen from t_min on, confirmed in the same way."),
    ("null", "null: overlap of two such sets of equal length; above 5 %, equal times are not called different."),
    ("raw", "raw: coefficient of variation at t_min, including what the operating system added."),
    ("removed", "removed: the share of measurements left out because the operating system added to them."),
    ("sets", "sets: measurements of the confirming set × searches."),
)
"""The columns of the table of timers, each with its explanation."""
EXCEEDED = (
    "The probability that a measurement of work that never varies takes at least this long. The curve of a steady "
    "timer falls at once; a flat end to the right is what the operating system, or another machine on the same "
    "processor, adds now and then. Nothing was left out."
)
DISTRIBUTIONS = (
    "The number of times that each value was measured, for work of length t_min (1,024 additions where t_min is "
    "unknown). A single bar is a counter whose step hides everything below it. The longest 0.5 % are shown only in the "
    "figure above."
)
DIFFERS = "differs: the ranges of the repeated searches are more than a tenth apart. ratio: the second over the first."


def facts(host: str, trust: Mapping[str, Any]) -> str:
    """Return the machine and the date, for the foot of a page."""
    return f"{host}, processor {trust['cpu']}, {datetime.fromtimestamp(trust['at']).strftime('%Y-%m-%d %H:%M')}"


def smallest_difference(cell: TimerCell) -> str:
    """Return t_diff; below the counter's step, only that it is at most the step."""
    return f"≤ {step(cell)}" if cell.t_diff_below_quantum else length(cell.t_diff)


def step(cell: TimerCell) -> str:
    """Return the step of the counter."""
    return amount(cell.quantum, cell.unit)


def amount(value: float | None, unit: str) -> str:
    """Return a cost or a step in its unit."""
    if value is None:
        return UNKNOWN
    return f"{value:.3g} cycles" if unit == "cycles" else duration(value)


def chosen(cell: TimerCell) -> str:
    """Return the sentence about the best timer for one kind of flush."""
    assert cell.t_min is not None
    near = PLACES.get(cell.flush, "with code from memory")
    bound = " (the counter's step allows no less)" if cell.quantum_binds else ""
    change = ""
    if cell.t_diff is not None:
        least = step(cell) if cell.t_diff_below_quantum else duration(cell.t_diff.ns)
        change = f", changes of {least} and more"
    return f"{near[0].upper()}{near[1:]}: {cell.timer} times regions from {duration(cell.t_min.ns)} on{bound}{change}."


def checked(check: ClockCheck) -> str:
    """Return the answer to --check."""
    length_text = duration(check.wanted_ns)
    if check.t_min_ns is None:
        return f"Whether {length_text} can be timed here is unknown: no timer's t_min could be measured."
    if check.exit_code == 0:
        return (
            f"A region of {length_text} can be timed here: {check.timer} times regions from "
            f"{duration(check.t_min_ns)} on."
        )
    begins = duration(check.t_min_ns)
    return f"A region of {length_text} is too short to be timed here: the best timer, {check.timer}, needs {begins}."


def nothing_measured(cells: int) -> str:
    """Return the sentence about an evaluation in which no timer has a t_min."""
    if cells == 0:
        return "No cell was measured."
    return "Nothing could be measured: no set of measurements varied little enough. The reasons are in the table."


def searched(fewest: int, most: int) -> str:
    """Return the sentence about the number of searches, for cells that were searched more than once."""
    many = str(most) if fewest == most else f"{fewest} to {most}"
    return (
        f"Each figure is the smallest of {many} searches, confirmed on a large set of fresh measurements: other load "
        "on the machine can only increase it."
    )


def comparison(names: tuple[str, str], same: bool, pairs: Sequence[FoundPair]) -> str:
    """Return the comparison of two evaluations, with the figure that differs most."""
    first, second = names
    known = [pair for pair in pairs if pair.ratio is not None]
    apart = [pair for pair in known if pair.differs]
    machines = (
        "one machine at two times, or two alike" if same else "two machines: their counters run at different rates"
    )
    if not known:
        return f"{first} and {second} have no figure in common: nothing can be compared.\nThey are of {machines}."
    lines = [f"{counted(len(apart), 'figure')} of {len(known)} differ between {first} and {second}."]
    if apart:
        most = max(apart, key=lambda pair: abs(math.log(pair.ratio or 1.0)))
        lines.append(
            f"The largest difference is in {most.figure} of {most.timer}, {most.flush}: {length(most.first)} and "
            f"{length(most.second)}, a ratio of {factor(most.ratio)}."
        )
    return "\n".join([*lines, f"They are of {machines}."])


def factor(ratio: float | None) -> str:
    """Return the ratio of the second figure to the first."""
    return UNKNOWN if ratio is None else f"{ratio:.3g}"


def differs(pair: FoundPair) -> str:
    """Return whether the two figures differ: yes, no or unknown."""
    if pair.differs is None:
        return UNKNOWN
    return "yes" if pair.differs else "no"


def going_on(cells: int) -> str:
    """Return the sentence that an evaluation is resumed."""
    return f"Resuming: {cells} cells were measured before."


def reading(cell: TimerCell) -> str:
    """Return the number of measurements behind a row, with the number of searches."""
    many = cell.many if cell.t_min is None else cell.t_min.confirmed
    return f"{many:,} × {cell.repetitions}"


def variation(cell: TimerCell) -> str:
    """Return the coefficient of variation that confirmed t_min."""
    return UNKNOWN if cell.t_min is None else share(cell.t_min.value)


def null(cell: TimerCell) -> str:
    """Return the null control of t_diff."""
    return UNKNOWN if cell.t_diff is None or cell.t_diff.null is None else share(cell.t_diff.null)


def share(value: float) -> str:
    """Return a share or a coefficient of variation as a percentage."""
    return UNKNOWN if value > 1e6 else f"{percent(value)} %"
