"""Sentences about runs of different times: the differences, and how far to believe them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from becalm.results.compare import Difference, Gate
from becalm.results.compare_stored import BenchmarkDifference, GeometricMean, StoredComparison
from becalm.units import join_names
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, duration, percent

WIDE = 0.10
"""The half width of the median interval, a fraction, above which a comparison is reported as coarse."""

HEAVY = 30.0
"""Degrees of freedom of Student's t below which its heavy tails are mentioned."""

NAMED = 3
"""The number of differences that get a sentence of their own; the table has all."""


def worded(stored_comparison: StoredComparison) -> StoredComparison:
    """Return the comparison with its sentences."""
    benchmarks = tuple(
        replace(benchmark, difference=replace(benchmark.difference, sentence=difference(benchmark)))
        for benchmark in stored_comparison.benchmarks
    )
    return replace(
        stored_comparison, benchmarks=benchmarks, sentence=comparison(replace(stored_comparison, benchmarks=benchmarks))
    )


def value(benchmark_difference: BenchmarkDifference) -> Callable[[float], str]:
    """Return the function that formats values of a benchmark."""
    if benchmark_difference.unit == "ns":
        return lambda ns: duration(ns) if ns >= 100 else f"{ns:.3g} ns"
    return partial(quantity, unit=benchmark_difference.unit)


def difference(benchmark_difference: BenchmarkDifference) -> str:
    """Return the sentence about one benchmark."""
    d, text = benchmark_difference.difference, value(benchmark_difference)
    level, half = f"{100 * d.confidence:g} %", (d.high - d.low) / 2
    change = f"{text(benchmark_difference.old)} → {text(benchmark_difference.new)}"
    if not math.isfinite(half):
        return f"{benchmark_difference.name}: {change}; too few runs to say whether it differs."
    span = ends(d)
    if d.worse is None and d.low <= 0 <= d.high:
        bound = percent(max(abs(d.low), abs(d.high)), half)
        return f"{benchmark_difference.name}: no difference above {bound} % ({level}: {span}); {change}."
    return f"{benchmark_difference.name}: {percent(abs(d.estimate), half)} % {d.answer} ({level}: {span}); {change}."


def mean_of(mean: GeometricMean) -> str:
    """Return the name of a geometric mean."""
    of = mean.metric or "time"
    return f"geometric mean of {mean.benchmarks}{'' if of == 'time' else f', {of}'}"


def ends(d: Difference) -> str:
    """Return an interval as text."""
    half = d.half
    if not math.isfinite(half):
        return "not yet known"
    return f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"


def comparison(stored_comparison: StoredComparison) -> str:
    """Return all sentences of a stored comparison, one per line."""
    return "\n".join(
        line
        for line in (
            *_answer(stored_comparison),
            *standing(stored_comparison),
            *_left(stored_comparison),
            *_limit(stored_comparison),
        )
        if line
    )


def _answer(stored_comparison: StoredComparison) -> list[str]:
    old, new = join_names(stored_comparison.old), join_names(stored_comparison.new)
    if not stored_comparison.benchmarks:
        return [f"{old} and {new} have no benchmark in common that could be compared."]
    worse = [benchmark for benchmark in stored_comparison.benchmarks if benchmark.difference.worse]
    better = [benchmark for benchmark in stored_comparison.benchmarks if benchmark.difference.worse is False]
    many = counted(len(stored_comparison.benchmarks), "benchmark")
    if len(stored_comparison.benchmarks) == 1:
        return [f"{new} compared with {old}.", stored_comparison.benchmarks[0].difference.sentence]
    sure = "differ" if stored_comparison.bounded else "differ in these runs"
    if not (worse or better):
        return [f"{new} compared with {old}: none of {many} is known to {sure}."]
    rest = (
        f"; of the others none is known to {sure}"
        if len(worse) + len(better) < len(stored_comparison.benchmarks)
        else ""
    )
    are = "is" if len(worse) == 1 else "are"
    head = f"{new} compared with {old}: of {many} {len(worse)} {are} worse, {len(better)} better{rest}."
    order = sorted((*worse, *better), key=lambda benchmark: -abs(math.log1p(benchmark.difference.estimate)))
    lines = [benchmark.difference.sentence for benchmark in order[:NAMED]]
    return [head, *lines]


def standing(stored_comparison: StoredComparison) -> list[str]:
    """Return the sentences on what the intervals are based on."""
    if not stored_comparison.benchmarks:
        return []
    if stored_comparison.shift is not None and any(
        benchmark.shift is None for benchmark in stored_comparison.benchmarks
    ):
        return [
            f"Measured at different times: intervals are wider by {percent(stored_comparison.shift)} % to "
            "each side, the shift "
            "between sessions that --shift allows for. This is weaker than measuring both in turn."
        ]
    if stored_comparison.references:
        shift = percent(next(benchmark.shift or 0.0 for benchmark in stored_comparison.benchmarks))
        still = "one program that never changes differs"
        if len(stored_comparison.references) > 1:
            still = f"{len(stored_comparison.references)} programs that never change differ"
        few = (
            ""
            if len(stored_comparison.references) > 2
            else " Three or more such programs make intervals much narrower."
        )
        return [
            f"Measured at different times: intervals come from how far {still} between the two (standard deviation of "
            f"a session {shift} %).{few} This is weaker than measuring both in turn."
        ]
    if stored_comparison.bounded:
        return [_repeated(stored_comparison), *_wide(stored_comparison)]
    return [
        "These intervals hold only for these runs. Sessions of the same program differ, too, and by how much is not "
        "known here: equal programs are often called different this way. Add sessions (--more-old, --more-new), bound "
        "the shift (--shift 3%), or measure both in turn: becalm compare OLD NEW."
    ]


def _repeated(stored_comparison: StoredComparison) -> str:
    """Return the sentence about the shift between repeated sessions, by benchmark or for all together."""
    most = percent(max((benchmark.shift or 0.0) for benchmark in stored_comparison.benchmarks))
    spread = f"standard deviation {'' if len(stored_comparison.benchmarks) == 1 else 'up to '}{most} %"
    if len(stored_comparison.suites) == 1:
        (suite,) = stored_comparison.suites
        tails = f", with tails of Student's t with {suite.freedom:g} degrees of freedom"
        spread = (
            f"{suite.benchmarks} benchmarks show that together: a standard deviation of {percent(suite.shift)} % in "
            f"the typical one and of up to {most} %{tails if suite.freedom < HEAVY else ''}"
        )
    sessions = f"{counted(len(stored_comparison.old), 'session')} against {len(stored_comparison.new)}"
    return (
        "Measured at different times: intervals come from how far repeated sessions of the same program differ "
        f"({sessions}; {spread}). This is weaker than measuring both in turn."
    )


def _wide(stored_comparison: StoredComparison) -> list[str]:
    """Return the advice about intervals too wide for the limit, or for most uses; empty otherwise."""
    limit = WIDE if stored_comparison.fail_above is None else stored_comparison.fail_above
    if not stored_comparison.half_width > limit:
        return []
    old, new = len(stored_comparison.old), len(stored_comparison.new)
    side, more = ("new", 1 / old + 1 / (new + 1)) if new <= old else ("old", 1 / (old + 1) + 1 / new)
    narrower = percent(1 - math.sqrt(more / (1 / old + 1 / new)))
    half = f"±{percent(min(stored_comparison.half_width, 1.0))} %"
    width = (
        f"The interval is {half}"
        if len(stored_comparison.benchmarks) == 1
        else f"Half of the intervals are {half} or wider"
    )
    return [
        f"{width}: smaller changes stay unseen. One more {side} session (--more-{side}) makes that about {narrower} % "
        "narrower."
    ]


def _left(stored_comparison: StoredComparison) -> list[str]:
    lines = []
    for names, state in ((stored_comparison.gone, "gone"), (stored_comparison.added, "new")):
        if names:
            lines.append(f"Not compared, {state}: {join_names(names)}.")
    if stored_comparison.renamed:
        renamed = [f"{before} → {after}" for before, after in stored_comparison.renamed]
        lines.append(f"Perhaps renamed: {join_names(renamed)}.")
    lines += [f"Not compared: {name} was {old} and is {new} now." for name, old, new in stored_comparison.units]
    lines += [f"Not compared: {name}: {why}." for name, why in stored_comparison.unusable]
    return lines


def _limit(stored_comparison: StoredComparison) -> list[str]:
    if stored_comparison.gate is None or stored_comparison.fail_above is None:
        return []
    bound = f"{percent(stored_comparison.fail_above)} %"
    if stored_comparison.gate is Gate.WITHIN:
        return [f"Within the limit: no slowdown above {bound}."]
    if stored_comparison.gate is Gate.ABOVE:
        worst = max(stored_comparison.benchmarks, key=lambda benchmark: benchmark.difference.harm[1])
        return [f"Over the limit: {worst.name} is worse by more than {bound}."]
    counts = (
        "This counts as a failure; --undecided pass accepts it."
        if stored_comparison.undecided == "fail"
        else "It is accepted (--undecided pass)."
    )
    if not stored_comparison.benchmarks:
        why = "there is nothing to compare"
    elif not stored_comparison.bounded:
        why = "how far sessions shift by themselves is not known (--more-old, --more-new, --shift)"
    else:
        open_ = [
            benchmark.name
            for benchmark in stored_comparison.benchmarks
            if benchmark.difference.harm[1] <= stored_comparison.fail_above < benchmark.difference.harm[2]
        ]
        why = (
            f"a slowdown of {join_names(open_)} above {bound} is neither shown nor ruled out"
            if open_
            else "not all could be compared"
        )
    return [f"Undecided: {why}. {counts}"]
