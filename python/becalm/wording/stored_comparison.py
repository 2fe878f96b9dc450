"""Sentences about runs of two times: what differs, and how far that can be believed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from becalm.nouns.stored_comparison import BenchmarkDifference, GeometricMean, StoredComparison
from becalm.nouns.verdict import Difference, Gate
from becalm.units import listed
from becalm.wording.measurement import counted, duration, percent
from becalm.wording.metric import quantity

WIDE = 0.10
"""The half width of the median interval, a fraction, from which a comparison is reported to see little."""

HEAVY = 30.0
"""Degrees of freedom of Student's t below which its tails are worth a word."""

SAID = 3
"""The number of differences that have a sentence of their own; the table has all."""


def worded(found: StoredComparison) -> StoredComparison:
    """Return the comparison with its sentences."""
    each = tuple(replace(one, difference=replace(one.difference, sentence=difference(one))) for one in found.benchmarks)
    return replace(found, benchmarks=each, sentence=comparison(replace(found, benchmarks=each)))


def value(found: BenchmarkDifference) -> Callable[[float], str]:
    """Return the function that writes values of a benchmark."""
    if found.unit == "ns":
        return lambda ns: duration(ns) if ns >= 100 else f"{ns:.3g} ns"
    return partial(quantity, unit=found.unit)


def difference(found: BenchmarkDifference) -> str:
    """Return the sentence about one benchmark."""
    d, shown = found.difference, value(found)
    level, half = f"{100 * d.confidence:g} %", (d.high - d.low) / 2
    change = f"{shown(found.old)} → {shown(found.new)}"
    if not math.isfinite(half):
        return f"{found.name}: {change}; too few runs to say whether it differs."
    span = ends(d)
    if d.worse is None and d.low <= 0 <= d.high:
        bound = percent(max(abs(d.low), abs(d.high)), half)
        return f"{found.name}: no difference above {bound} % ({level}: {span}); {change}."
    return f"{found.name}: {percent(abs(d.estimate), half)} % {d.answer} ({level}: {span}); {change}."


def mean_of(found: GeometricMean) -> str:
    """Return the name of a geometric mean."""
    of = found.metric or "time"
    return f"geometric mean of {found.benchmarks}{'' if of == 'time' else f', {of}'}"


def ends(d: Difference) -> str:
    """Return an interval as text."""
    half = (d.high - d.low) / 2
    if not math.isfinite(half):
        return "not yet known"
    return f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"


def comparison(found: StoredComparison) -> str:
    """Return the whole, one line a statement."""
    return "\n".join(line for line in (*_answer(found), *standing(found), *_left(found), *_limit(found)) if line)


def _answer(found: StoredComparison) -> list[str]:
    old, new = listed(found.old), listed(found.new)
    if not found.benchmarks:
        return [f"{old} and {new} have no benchmark in common that could be compared."]
    worse = [each for each in found.benchmarks if each.difference.worse]
    better = [each for each in found.benchmarks if each.difference.worse is False]
    many = counted(len(found.benchmarks), "benchmark")
    if len(found.benchmarks) == 1:
        return [f"{new} compared with {old}.", found.benchmarks[0].difference.sentence]
    sure = "differ" if found.bounded else "differ by their runs"
    if not (worse or better):
        return [f"{new} compared with {old}: none of {many} is known to {sure}."]
    rest = f"; of the others none is known to {sure}" if len(worse) + len(better) < len(found.benchmarks) else ""
    are = "is" if len(worse) == 1 else "are"
    head = f"{new} compared with {old}: of {many} {len(worse)} {are} worse, {len(better)} better{rest}."
    order = sorted((*worse, *better), key=lambda each: -abs(math.log1p(each.difference.estimate)))
    lines = [each.difference.sentence for each in order[:SAID]]
    return [head, *lines]


def standing(found: StoredComparison) -> list[str]:
    """Return the sentences about the basis of the intervals."""
    if not found.benchmarks:
        return []
    if found.shift is not None and any(each.shift is None for each in found.benchmarks):
        return [
            f"Measured at different times: intervals are wider by {percent(found.shift)} % to each side, the shift "
            "between sessions that --shift allows for. Weaker than measuring both in turn."
        ]
    if found.references:
        shift = percent(next(each.shift or 0.0 for each in found.benchmarks))
        still = "one program that never changes differs"
        if len(found.references) > 1:
            still = f"{len(found.references)} programs that never change differ"
        few = "" if len(found.references) > 2 else " Three or more such programs make intervals much narrower."
        return [
            f"Measured at different times: intervals come from how far {still} between the two (standard deviation of "
            f"a session {shift} %).{few} Weaker than measuring both in turn."
        ]
    if found.bounded:
        return [_repeated(found), *_wide(found)]
    return [
        "These intervals hold for the runs alone. Sessions of the same program differ, too, and by how much is not "
        "known here: equal programs are often called different this way. Add sessions (--more-old, --more-new), bound "
        "the shift (--shift 3%), or measure both in turn: becalm compare OLD NEW."
    ]


def _repeated(found: StoredComparison) -> str:
    """Return the sentence about the shift between repeated sessions, of each benchmark or of all together."""
    most = percent(max((benchmark.shift or 0.0) for benchmark in found.benchmarks))
    spread = f"standard deviation {'' if len(found.benchmarks) == 1 else 'up to '}{most} %"
    if len(found.suites) == 1:
        (suite,) = found.suites
        tails = f", with tails of Student's t with {suite.freedom:g} degrees of freedom"
        spread = (
            f"{suite.benchmarks} benchmarks show that together: a standard deviation of {percent(suite.shift)} % in "
            f"the typical one and of up to {most} %{tails if suite.freedom < HEAVY else ''}"
        )
    sessions = f"{counted(len(found.old), 'session')} against {len(found.new)}"
    return (
        "Measured at different times: intervals come from how far repeated sessions of the same program differ "
        f"({sessions}; {spread}). Weaker than measuring both in turn."
    )


def _wide(found: StoredComparison) -> list[str]:
    """Report intervals too wide for the limit, or for most uses, and what one more session would do."""
    limit = WIDE if found.fail_above is None else found.fail_above
    if not found.half_width > limit:
        return []
    old, new = len(found.old), len(found.new)
    side, more = ("new", 1 / old + 1 / (new + 1)) if new <= old else ("old", 1 / (old + 1) + 1 / new)
    narrower = percent(1 - math.sqrt(more / (1 / old + 1 / new)))
    half = f"±{percent(min(found.half_width, 1.0))} %"
    what = f"The interval is {half}" if len(found.benchmarks) == 1 else f"Half of the intervals are {half} or wider"
    return [
        f"{what}: smaller changes stay unseen. One more {side} session (--more-{side}) makes that about {narrower} % "
        "narrower."
    ]


def _left(found: StoredComparison) -> list[str]:
    lines = []
    for names, what in ((found.gone, "gone"), (found.added, "new")):
        if names:
            lines.append(f"Not compared, {what}: {listed(names)}.")
    if found.renamed:
        lines.append(f"Perhaps renamed: {listed(f'{one} → {other}' for one, other in found.renamed)}.")
    lines += [f"Not compared: {name} was {old} and is {new} now." for name, old, new in found.units]
    lines += [f"Not compared: {name}: {why}." for name, why in found.unusable]
    return lines


def _limit(found: StoredComparison) -> list[str]:
    if found.gate is None or found.fail_above is None:
        return []
    bound = f"{percent(found.fail_above)} %"
    if found.gate is Gate.WITHIN:
        return [f"Within the limit: no slowdown above {bound}."]
    if found.gate is Gate.ABOVE:
        worst = max(found.benchmarks, key=lambda each: each.difference.harm[1])
        return [f"Over the limit: {worst.name} is worse by more than {bound}."]
    counts = "This counts as a failure; --undecided pass accepts it." if found.undecided == "fail" else "Accepted."
    if not found.benchmarks:
        why = "there is nothing to compare"
    elif not found.bounded:
        why = "how far sessions shift by themselves is not known (--more-old, --more-new, --shift)"
    else:
        open_ = [
            each.name
            for each in found.benchmarks
            if each.difference.harm[1] <= found.fail_above < each.difference.harm[2]
        ]
        why = (
            f"a slowdown of {listed(open_)} above {bound} is neither shown nor ruled out"
            if open_
            else "not all could be compared"
        )
    return [f"Undecided: {why}. {counts}"]
