"""The wording of an explanation: values in, sentences out."""

from __future__ import annotations

from becalm.load.attribution import Attribution, CauseSearch, CauseShare
from becalm.load.background_load import CAUSES, MEASURES
from becalm.load.delay import UNLOADED
from becalm.load.explanation import Case, Explanation
from becalm.load.waterfall import MEMORY, QUEUE, STEAL, UNEXPLAINED
from becalm.stats.response_shape import FASTER, FROM, LINEAR, NONE, SHIFT, ResponseShape
from becalm.units import listed
from becalm.wording.compare import counted, duration, percent

WHAT = {
    "CPU": "load on the CPUs",
    "memory": "shortage of memory",
    "disk": "load on the disks",
    "network": "network traffic",
    "NFS": "NFS traffic",
    "hypervisor": "time that the hypervisor took (steal)",
}
"""Causes in words."""

TITLES = {measure.name: measure.title for measure in MEASURES}
SHORT_NS = 10e6
"""Runs that are shorter are mostly start-up."""

SHARES = ("cpu", "steal")
"""Measures that are fractions."""

PER = {"queue": " a task per CPU", "reclaims": " for one a second", "nfs": " for one call a second"}
"""The unit of a slope over a measure, where it is not one unit of the measure."""

UNITS = {measure.name: measure.unit for measure in MEASURES}


def share(value: float) -> str:
    """Return a share as whole percent."""
    return f"{abs(100 * value) if abs(value) < 0.005 else 100 * value:.0f} %"


def explanation(found: Explanation) -> str:
    """Return the explanation, one line per program and machine."""
    return "\n".join(case.sentence for case in found.cases) or "\n".join(finding.sentence for finding in found.findings)


def case(found: Case) -> str:
    """Return the sentences about one program on one machine."""
    a = found.attribution
    name = f"{found.program} on {found.machine}"
    runs = counted(found.runs, "run")
    said = _ANSWERS[a.answer](found, a)
    if found.forced is not None and found.forced not in CAUSES.get(a.cause or "", ()):
        said = f"{_forced(found, found.forced)}. {_rest(found, a) or _sentence(said)}"
    return f"{name}: {said} ({runs}, {_reference(found)}; the slowest took {a.largest_delay:.2f} times as long.)"


_FORCED = {
    QUEUE: "it waited for a CPU for {share} of its time",
    MEMORY: "it waited for memory (swap and reclaim) for {share} of its time",
    STEAL: "the hypervisor gave its CPU to others for {share} of its time",
}
"""The sentence for each counted wait."""


def _forced(found: Case, name: str) -> str:
    """Return what most of the delay is, by the kernel's own count, whatever differs from run to run."""
    bar = next(bar for bar in found.bars if bar.name == name)
    wall = sum(bar.ns or 0.0 for bar in found.bars)
    how = "counted" if bar.exact else "estimated from what was counted"
    times = f"{duration(bar.ns or 0.0)} of {duration(wall)}"
    return f"{_FORCED[name].format(share=share((bar.ns or 0.0) / wall))} ({times} a run, {how})"


def _rest(found: Case, a: Attribution) -> str:
    """Return what is known of the differences between runs that all waited; empty where the usual sentence says it."""
    match a.answer:
        case CauseSearch.NONE:
            p = "" if a.p_value is None else f" (p = {a.p_value:.2g})"
            return f"What differs from run to run is not explained by any load that was recorded{p}.{_unsampled(a)}"
        case CauseSearch.NO_LOAD:
            return "Hardly any load varied meanwhile, so what differs from run to run is not explained by it."
        case CauseSearch.FEW:
            return f"What differs from run to run is not known: {_few(found, a)}"
        case _:
            return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _reference(found: Case) -> str:
    took = duration(found.reference_ns)
    return f"unloaded {took}" if found.reference == UNLOADED else f"{found.reference} {took}"


def _named(found: Case, a: Attribution) -> str:
    first = a.shares[0]
    agree = ""
    if first.carried is not None:
        agree = f"; {share(first.carried)} of the delay lies where that shows ({' or '.join(_bars(first.cause))})"
    return (
        f"{WHAT[first.cause]} made it slow. It explains {share(first.share)} of the differences between runs "
        f"(95 %: {interval(first)}){agree}.{_followed(a)}"
    )


def _followed(a: Attribution) -> str:
    """Return the sentence about measures that rose, though the plan did not ask for it; empty where none did."""
    if not a.followed:
        return ""
    rose = listed([WHAT[each] for each in a.followed])
    return f" With it rose {rose}, for which the plan did not ask: that comes of it."


def _bars(cause: str) -> tuple[str, ...]:
    return tuple("the rest" if name == UNEXPLAINED else name for name in CAUSES[cause])


def _not_separable(found: Case, a: Attribution) -> str:
    first = a.shares[0]
    both = listed(a.together)
    if first.inflation >= 5:
        more = f" {advice(a)}" if advice(a) else ""
        return f"load made it slow, but which is not separable: {both} rose together.{more}"
    shares = {each.cause: each for each in a.shares}
    told = ", ".join(f"{cause} {share(shares[cause].share)}" for cause in a.together)
    return (
        f"load made it slow, but the cause is not separable: of the differences {told} are explained, and "
        f"{first.cause} leads in only {share(first.leads)} of the resamples."
    )


def advice(a: Attribution) -> str:
    """Return the sentence about runs that would separate causes; empty where none would or none are needed."""
    if a.answer is not CauseSearch.NOT_SEPARABLE or len(a.together) != 2 or a.more_runs is None:
        return ""
    one, two = (WHAT[each] for each in a.together)
    return (
        f"{counted(a.more_runs, 'run')} with only {one} and {a.more_runs} with only {two} would separate them: "
        "becalm explain --designed does that."
    )


def _none(found: Case, a: Attribution) -> str:
    p = "" if a.p_value is None else f" (p = {a.p_value:.2g})"
    most = f" Most of the delay is {found.bottleneck}." if found.bottleneck else ""
    return f"no load that was recorded explains its times{p}.{most}{_unsampled(a)}"


def _unsampled(a: Attribution) -> str:
    """Return the sentence that nothing is known about load on the CPUs; empty where something is."""
    if "queue" not in a.missing:
        return ""
    return " The run queue is not known for many of its runs, so the load on the CPUs could not be assessed by it."


def _disagrees(found: Case, a: Attribution) -> str:
    first = a.shares[0]
    where = f" Most of the delay is {found.bottleneck}." if found.bottleneck else ""
    carried = "little" if first.carried is None else f"only {share(max(0.0, first.carried))}"
    return (
        f"its times rose with {WHAT[first.cause]}, but {carried} of the delay lies where that would show "
        f"({' or '.join(_bars(first.cause))}), so no cause is named.{where}"
    )


def _refused(found: Case, a: Attribution) -> str:
    short = 0 < found.reference_ns < SHORT_NS
    return (
        f"its times rose with {WHAT[a.shares[0].cause]}, but the waits that were counted add up to more than the runs "
        "took, so no cause is named."
        + (f" A run of {duration(found.reference_ns)} is mostly start-up: let one run do more." if short else "")
    )


def _few(found: Case, a: Attribution) -> str:
    are = "is" if a.runs == 1 else "are"
    return (
        f"{counted(a.runs, 'observation')} of load {are} too few to find a cause; 20 to 60 are wanted, of 0.1 s or "
        "more each. Measure for longer, or with known loads: becalm explain --designed -- COMMAND."
    )


def _no_load(found: Case, a: Attribution) -> str:
    most = f" Most of what came on top of the reference is {found.bottleneck}." if found.bottleneck else ""
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


def shape(name: str, found: ResponseShape) -> str:
    """Return the fitted shape over one measure."""
    unit = UNITS[name]
    per = " per 100 %" if name in SHARES else PER.get(name, f" per {unit}")
    knee = ""
    if found.knee is not None and found.kind in (FROM, FASTER):
        knee = f" {amount(name, found.knee)} ({amount(name, found.knee_low)} to {amount(name, found.knee_high)})"
    if found.kind == NONE:
        return "none"
    if found.kind == LINEAR:
        return f"linear, {found.slope:+.2g}{per}"
    if found.kind == SHIFT:
        return f"parallel shift by {found.level:+.2f} as soon as there is any"
    if found.kind == FROM:
        return f"linear from{knee} on, {found.slope:+.2g}{per}"
    return f"faster than linear from{knee} on: {found.before:+.2g}, then {found.slope:+.2g}{per}"


def amount(name: str, value: float | None) -> str:
    """Return a value of a measure with its unit."""
    if value is None:
        return "?"
    if name in SHARES:
        return f"{percent(value, 0.01)} %"
    unit = UNITS[name]
    return f"{value:.3g}{' ' + unit if unit else ''}"


def interval(each: CauseShare) -> str:
    """Return a share of the differences with its interval."""
    return f"{share(each.low)} to {share(each.high)}"
