"""Sentences of an explanation."""

from __future__ import annotations

from becalm.load.attribution import Attribution, CauseSearch, CauseShare
from becalm.load.background_load import CAUSES, MEASURES
from becalm.load.delay import UNLOADED
from becalm.load.explanation import Case, Explanation
from becalm.load.waterfall import MEMORY, QUEUE, STEAL, UNEXPLAINED
from becalm.stats.response_shape import FASTER, FROM, LINEAR, NONE, SHIFT, ResponseShape
from becalm.units import join_names
from becalm.wording.numbers import counted, duration, percent

CAUSE_NAMES = {
    "CPU": "load on the CPUs",
    "memory": "shortage of memory",
    "disk": "load on the disks",
    "network": "network traffic",
    "NFS": "NFS traffic",
    "hypervisor": "time that the hypervisor took (steal)",
}
"""The causes in words."""

TITLES = {measure.name: measure.title for measure in MEASURES}
SHORT_NS = 10e6
"""The time below which a run is mostly start-up, ns."""

SHARES = ("cpu", "steal")
"""Measures that are fractions."""

PER = {"queue": " a task per CPU", "reclaims": " for one a second", "nfs": " for one call a second"}
"""The unit of a slope over a measure, where it differs from the unit of the measure."""

UNITS = {measure.name: measure.unit for measure in MEASURES}


def share(value: float) -> str:
    """Return a share as a whole percentage."""
    return f"{abs(100 * value) if abs(value) < 0.005 else 100 * value:.0f} %"


def explanation(result: Explanation) -> str:
    """Return the explanation, one line per program and machine."""
    return "\n".join(case.sentence for case in result.cases) or "\n".join(
        finding.sentence for finding in result.findings
    )


def case(result: Case) -> str:
    """Return the sentences about one program on one machine."""
    a = result.attribution
    name = f"{result.program} on {result.machine}"
    runs = counted(result.runs, "run")
    answer = _ANSWERS[a.answer](result, a)
    if result.forced is not None and result.forced not in CAUSES.get(a.cause or "", ()):
        answer = f"{_forced(result, result.forced)}. {_rest(result, a) or _sentence(answer)}"
    return f"{name}: {answer} ({runs}, {_reference(result)}; the slowest took {a.largest_delay:.2f} times as long.)"


_FORCED = {
    QUEUE: "it waited for a CPU for {share} of its time",
    MEMORY: "it waited for memory (swap and reclaim) for {share} of its time",
    STEAL: "the hypervisor gave its CPU to others for {share} of its time",
}
"""The sentence for each counted wait."""


def _forced(result: Case, name: str) -> str:
    """Return the wait that makes up most of the delay by the kernel's own count, in all runs alike."""
    bar = next(bar for bar in result.bars if bar.name == name)
    wall = sum(bar.ns or 0.0 for bar in result.bars)
    how = "counted" if bar.exact else "estimated from what was counted"
    times = f"{duration(bar.ns or 0.0)} of {duration(wall)}"
    return f"{_FORCED[name].format(share=share((bar.ns or 0.0) / wall))} ({times} a run, {how})"


def _rest(result: Case, a: Attribution) -> str:
    """Return the sentence about the differences between runs that all waited; empty where the usual one says it."""
    match a.answer:
        case CauseSearch.NONE:
            p = "" if a.p_value is None else f" (p = {a.p_value:.2g})"
            return f"What differs from run to run is not explained by any load that was recorded{p}.{_unsampled(a)}"
        case CauseSearch.NO_LOAD:
            return "Hardly any load varied meanwhile, so what differs from run to run is not explained by it."
        case CauseSearch.FEW:
            return f"What differs from run to run is not known: {_few(result, a)}"
        case _:
            return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _reference(result: Case) -> str:
    took = duration(result.reference_ns)
    return f"unloaded {took}" if result.reference == UNLOADED else f"{result.reference} {took}"


def _named(result: Case, a: Attribution) -> str:
    first = a.shares[0]
    agree = ""
    if first.carried is not None:
        agree = f"; {share(first.carried)} of the delay lies where that shows ({' or '.join(_bars(first.cause))})"
    return (
        f"{CAUSE_NAMES[first.cause]} made it slow. It explains {share(first.share)} of the differences between runs "
        f"(95 %: {interval(first)}){agree}.{_followed(a)}"
    )


def _followed(a: Attribution) -> str:
    """Return the sentence about measures that rose without being planned; empty where none did."""
    if not a.followed:
        return ""
    rose = join_names([CAUSE_NAMES[cause] for cause in a.followed])
    return f" {_sentence(rose)} rose with it, although the plan did not ask for that: it is a consequence."


def _bars(cause: str) -> tuple[str, ...]:
    return tuple("the rest" if name == UNEXPLAINED else name for name in CAUSES[cause])


def _not_separable(result: Case, a: Attribution) -> str:
    first = a.shares[0]
    both = join_names(a.together)
    if first.inflation >= 5:
        more = f" {advice(a)}" if advice(a) else ""
        return f"load made it slow, but {both} rose together and cannot be separated.{more}"
    shares = {row.cause: row for row in a.shares}
    explained = ", ".join(f"{cause} {share(shares[cause].share)}" for cause in a.together)
    return (
        f"load made it slow, but the cause is not separable: of the differences, {explained} are explained, and "
        f"{first.cause} leads in only {share(first.leads)} of the resamples."
    )


def advice(a: Attribution) -> str:
    """Return the sentence about runs that would separate two causes; empty where none would or none are needed."""
    if a.answer is not CauseSearch.NOT_SEPARABLE or len(a.together) != 2 or a.more_runs is None:
        return ""
    first, second = (CAUSE_NAMES[cause] for cause in a.together)
    return (
        f"{counted(a.more_runs, 'run')} with only {first} and {a.more_runs} with only {second} would separate them: "
        "becalm explain --designed does that."
    )


def _none(result: Case, a: Attribution) -> str:
    p = "" if a.p_value is None else f" (p = {a.p_value:.2g})"
    most = f" Most of the delay is {result.bottleneck}." if result.bottleneck else ""
    return f"no load that was recorded explains its times{p}.{most}{_unsampled(a)}"


def _unsampled(a: Attribution) -> str:
    """Return the sentence that the load on the CPUs is unknown; empty where it is known."""
    if "queue" not in a.missing:
        return ""
    return " The run queue is not known for many of its runs, so the load on the CPUs could not be assessed by it."


def _disagrees(result: Case, a: Attribution) -> str:
    first = a.shares[0]
    where = f" Most of the delay is {result.bottleneck}." if result.bottleneck else ""
    carried = "little" if first.carried is None else f"only {share(max(0.0, first.carried))}"
    return (
        f"its times rose with {CAUSE_NAMES[first.cause]}, but {carried} of the delay lies where that would show "
        f"({' or '.join(_bars(first.cause))}), so no cause is named.{where}"
    )


def _refused(result: Case, a: Attribution) -> str:
    short = 0 < result.reference_ns < SHORT_NS
    return (
        f"its times rose with {CAUSE_NAMES[a.shares[0].cause]}, but the waits that were counted add up to more than "
        "the runs took, so no cause is named."
        + (f" A run of {duration(result.reference_ns)} is mostly start-up: let one run do more." if short else "")
    )


def _few(result: Case, a: Attribution) -> str:
    are = "is" if a.runs == 1 else "are"
    return (
        f"{counted(a.runs, 'observation')} of load {are} too few to find a cause; 20 to 60 are wanted, of 0.1 s or "
        "more each. Measure for longer, or with known loads: becalm explain --designed -- COMMAND."
    )


def _no_load(result: Case, a: Attribution) -> str:
    most = f" Most of the time beyond the reference is {result.bottleneck}." if result.bottleneck else ""
    return f"hardly any load varied during its runs, so there is nothing to explain them by.{most}{_unsampled(a)}"


_ANSWERS = {
    CauseSearch.NAMED: _named,
    CauseSearch.NOT_SEPARABLE: _not_separable,
    CauseSearch.NONE: _none,
    CauseSearch.DISAGREES: _disagrees,
    CauseSearch.REFUSED: _refused,
    CauseSearch.FEW: _few,
    CauseSearch.NO_LOAD: _no_load,
}


def shape(name: str, response: ResponseShape) -> str:
    """Return the shape of the response to one measure, in words."""
    unit = UNITS[name]
    per = " per 100 %" if name in SHARES else PER.get(name, f" per {unit}")
    knee = ""
    if response.knee is not None and response.kind in (FROM, FASTER):
        knee = (
            f" {amount(name, response.knee)} ({amount(name, response.knee_low)} to {amount(name, response.knee_high)})"
        )
    if response.kind == NONE:
        return "none"
    if response.kind == LINEAR:
        return f"linear, {response.slope:+.2g}{per}"
    if response.kind == SHIFT:
        return f"parallel shift by {response.level:+.2f} as soon as there is any"
    if response.kind == FROM:
        return f"linear from{knee} on, {response.slope:+.2g}{per}"
    return f"faster than linear from{knee} on: {response.before:+.2g}, then {response.slope:+.2g}{per}"


def amount(name: str, value: float | None) -> str:
    """Return a value of a measure with its unit."""
    if value is None:
        return "?"
    if name in SHARES:
        return f"{percent(value, 0.01)} %"
    unit = UNITS[name]
    return f"{value:.3g}{' ' + unit if unit else ''}"


def interval(cause_share: CauseShare) -> str:
    """Return the interval of a share of the differences."""
    return f"{share(cause_share.low)} to {share(cause_share.high)}"
