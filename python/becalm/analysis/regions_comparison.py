"""The comparison of files of regions before a change and after it, name by name.

The typical length of a name is its mean without the longest twentieth, less the clock's cost. Where each side has
several files, each file gives one value (a process: addresses and layout differ between processes). Otherwise each file
is cut into consecutive pieces, so that similar neighbours do not count as many. The test is Welch's t on the logarithms
of these values; p values by Holm's method and intervals by Bonferroni's hold jointly for all names. A difference below
what the timer can show of such means (`visible_from`) is not visible, whatever its interval is.

Public: compare, PIECES.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from becalm.analysis.regions_lengths import Lengths, timed
from becalm.analysis.regions_variation import trimmed
from becalm.files.region_codec import RegionHeader
from becalm.nouns.finding import Finding
from becalm.results.compare import Gate
from becalm.results.regions import FilesWanted, RegionAnswer, RegionComparison, RegionDifference, TimerLimit
from becalm.stats.arrays import Floats
from becalm.stats.classical_tests import welch_t
from becalm.stats.multiplicity import holm, simultaneous_alpha
from becalm.wording import regions as words
from becalm.wording.findings import finding

PIECES = 20
"""The number of pieces into which a file is cut where a side has only one file."""

LEAST = 10
"""The fewest regions of a piece; shorter files have fewer pieces."""

USEFUL_FILES = 5
"""The fewest files of a side whose scatter is known well enough to be useful."""

PRECISIONS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""The half widths of an interval to aim at: the smallest that AFFORDABLE files of each side would give."""

AFFORDABLE = 20

COST = 0.05
"""The share of the clock's cost that may differ between two surroundings, which limits what a mean can show."""

LOCKED = 0.98
"""The share of readings with one value of a clock with steps from which its phase counts as locked to the code: a mean
of such readings hides up to a step."""

ROUNDING = 1e-6
"""The tolerance that keeps an exact number of calls from being rounded up."""

Side = Mapping[str, Sequence[Floats]]
"""The net lengths in ns of timed regions, by name and then by file."""


def compare(
    old: Sequence[Lengths],
    new: Sequence[Lengths],
    *,
    titles: tuple[Sequence[str], Sequence[str]],
    timer: TimerLimit | None,
    confidence: float = 0.95,
    fail_above: float | None = None,
    undecided: str = "fail",
) -> RegionComparison:
    """Return the comparison of two sides. Raises ValueError for a side without a file."""
    if not old or not new:
        raise ValueError("Both sides need a file.")
    before, after = _side(old), _side(new)
    both = [name for name in before if name in after]
    by_file = len(old) > 1 and len(new) > 1
    values = {name: (_log_lengths(before[name], by_file), _log_lengths(after[name], by_file)) for name in both}
    testable = [name for name in both if min(map(len, values[name])) > 1]
    tests = [welch_t(*values[name][::-1]) for name in testable]
    adjusted = dict(zip(testable, holm([test.p_value for test in tests]).tolist(), strict=True)) if testable else {}
    alpha = simultaneous_alpha(1 - confidence, max(1, len(testable)))
    clocks = [lengths.header for lengths in (*old, *new)]
    visible = {name: visible_from((before[name], after[name]), clocks, timer) for name in both}
    differences = tuple(
        _difference(
            name,
            before[name],
            after[name],
            values[name],
            adjusted.get(name),
            alpha,
            confidence,
            visible[name],
            fail_above,
        )
        for name in both
    )
    findings = tuple(_findings(old, new, before, after, by_file, differences, timer, fail_above))
    gate = None if fail_above is None else _gate(differences, fail_above)
    comparison = RegionComparison(
        old=tuple(titles[0]),
        new=tuple(titles[1]),
        confidence=confidence,
        timer=timer,
        differences=differences,
        findings=findings,
        fail_above=fail_above,
        gate=gate,
        undecided=undecided,
        files_wanted=_files_wanted({name: values[name] for name in testable}, alpha, fail_above) if by_file else None,
    )
    return words.with_comparison(comparison)


def _side(files: Sequence[Lengths]) -> dict[str, list[Floats]]:
    result: dict[str, list[Floats]] = {}
    for file in files:
        for name, records in file.by_name():
            net_ns = file.ns(records["ticks"][timed(records)]) - file.header.cost_ns
            if len(net_ns):
                result.setdefault(name, []).append(net_ns)
    return result


def _log_lengths(files: Sequence[Floats], by_file: bool) -> Floats:
    """Return logarithms of typical net lengths of each file, or of each piece; lengths below 0.1 ns count as 0.1 ns."""
    if by_file:
        pieces = list(files)
    else:
        pieces_of_file = max(1, PIECES // len(files))
        pieces = [
            piece for file in files for piece in np.array_split(file, min(pieces_of_file, max(1, len(file) // LEAST)))
        ]
    return np.log(np.maximum([trimmed(piece) for piece in pieces], 0.1))


def _difference(
    name: str,
    before: Sequence[Floats],
    after: Sequence[Floats],
    values: tuple[Floats, Floats],
    p_value: float | None,
    alpha: float,
    confidence: float,
    visible: float | None,
    fail_above: float | None,
) -> RegionDifference:
    old, new = values
    typical = [float(np.exp(values.mean())) for values in values]
    change = float(new.mean() - old.mean())
    low, high = -math.inf, math.inf
    if p_value is not None:
        half_width = _half_width([float(side.var(ddof=1)) for side in (old, new)], len(old), len(new), alpha)
        low, high = math.expm1(change - half_width), math.expm1(change + half_width)
    if p_value is None:
        answer = RegionAnswer.UNKNOWN
    elif p_value > 1 - confidence or low <= 0 <= high:
        answer = RegionAnswer.NO_DIFFERENCE_DETECTED
    elif visible is not None and abs(typical[1] - typical[0]) < visible:
        answer = RegionAnswer.NOT_VISIBLE
    else:
        answer = RegionAnswer.SLOWER if change > 0 else RegionAnswer.FASTER
    return RegionDifference(
        name=name,
        old_ns=typical[0],
        new_ns=typical[1],
        estimate=math.expm1(change),
        low=low,
        high=high,
        p_value=math.nan if p_value is None else p_value,
        answer=answer,
        units=(len(old), len(new)),
        regions=(sum(map(len, before)), sum(map(len, after))),
        visible_from_ns=visible,
        calls=_calls(typical, answer, visible, fail_above),
    )


def visible_from(
    sides: tuple[Sequence[Floats], Sequence[Floats]], clocks: Sequence[RegionHeader], timer: TimerLimit | None
) -> float | None:
    """Return the smallest difference, in ns, of two means that the timer can show; None where t_diff is not known.

    t_diff is that of single regions. The mean of n is finer by the square root of n, where the phase of the clock is
    free against the code, and at best as fine as the cost that is subtracted is known.
    """
    if timer is None:
        return None
    count = min(sum(map(len, side)) for side in sides)
    limit = max(timer.t_diff_ns / math.sqrt(count), *(COST * clock.cost_ns for clock in clocks))
    step = max(clock.ns(clock.quantum) for clock in clocks)
    if any(_most_frequent(values, step) > LOCKED for side in sides for values in side):
        limit = max(limit, step)
    return min(limit, max(timer.t_diff_ns, COST * max(clock.cost_ns for clock in clocks)))


def _most_frequent(values: Floats, step: float) -> float:
    """Return the share of the most frequent reading of a clock with steps; 0 of one without."""
    if step <= 0:
        return 0.0
    steps = np.rint((values - values.min()) / step).astype(np.int64)
    return float(np.unique(steps, return_counts=True)[1].max() / len(values))


def _calls(
    typical: Sequence[float], answer: RegionAnswer, visible: float | None, fail_above: float | None
) -> int | None:
    """Return the number of calls, timed as one region, that make a difference visible, or one as large as the limit."""
    if visible is None:
        return None
    if answer is RegionAnswer.NOT_VISIBLE:
        return math.ceil(visible / max(abs(typical[1] - typical[0]), 1e-3) - ROUNDING)
    if fail_above is not None and answer is not RegionAnswer.FASTER and visible > fail_above * typical[0]:
        return math.ceil(visible / (fail_above * max(typical[0], 0.1)) - ROUNDING)
    return None


def _welch_quantile(variances: Sequence[float], counts: tuple[int, int], alpha: float) -> float:
    """Return Student's quantile with Welch's degrees of freedom for variances of means; 0 where nothing varies."""
    total = sum(variances)
    if total == 0:
        return 0.0
    df = total**2 / sum(variance**2 / (count - 1) for variance, count in zip(variances, counts, strict=True))
    return float(stdtrit(df, 1 - alpha / 2))


def _files_wanted(values: Mapping[str, tuple[Floats, Floats]], alpha: float, limit: float | None) -> FilesWanted | None:
    """Return the number of files that each side needs, judged by their scatter; None when there are enough."""
    half_widths = {
        name: _half_width([float(side.var(ddof=1)) for side in pair], len(pair[0]), len(pair[1]), alpha)
        for name, pair in values.items()
    }
    if not half_widths or min(len(side) for pair in values.values() for side in pair) >= USEFUL_FILES:
        return None
    name = max(half_widths, key=lambda key: half_widths[key])
    variances = [float(side.var(ddof=1)) for side in values[name]]
    precisions = PRECISIONS if limit is None else (limit / 2,)
    for precision in precisions:
        if half_widths[name] <= math.log1p(precision):
            return None
        files = next(n for n in _file_numbers() if _half_width(variances, n, n, alpha) <= math.log1p(precision))
        if files <= AFFORDABLE:
            break
    return FilesWanted(name, math.expm1(half_widths[name]), max(files, USEFUL_FILES), precision)


def _half_width(variances: Sequence[float], old: int, new: int, alpha: float) -> float:
    """Return half the width of Welch's interval for given numbers of values with these variances."""
    means = [float(variance) / count for variance, count in zip(variances, (old, new), strict=True)]
    return math.sqrt(sum(means)) * _welch_quantile(means, (old, new), alpha)


def _file_numbers() -> Iterator[int]:
    """Yield increasing numbers of files: every number first, then steps of a tenth."""
    files = 2
    while True:
        yield files
        files += max(1, files // 10)


def _gate(differences: Sequence[RegionDifference], limit: float) -> Gate:
    """Return the state of the limit; an invisible difference is within it where the timer would show a larger one."""
    if any(d.low > limit and d.answer is RegionAnswer.SLOWER for d in differences):
        return Gate.ABOVE
    faster = RegionAnswer.FASTER
    within = [
        d.high <= limit and (d.answer is faster or (d.visible_from_ns or 0.0) <= limit * d.old_ns) for d in differences
    ]
    return Gate.WITHIN if differences and all(within) else Gate.UNDECIDED


def _findings(
    old: Sequence[Lengths],
    new: Sequence[Lengths],
    before: Side,
    after: Side,
    by_file: bool,
    differences: Sequence[RegionDifference],
    timer: TimerLimit | None,
    fail_above: float | None,
) -> Iterator[Finding]:
    for side, names, other_names in (("old", before, after), ("new", after, before)):
        if one_sided := [name for name in names if name not in other_names]:
            yield finding("region_one_side", {"side": side, "names": one_sided})
    files = [*old, *new]
    if len({file.header.machine for file in files}) > 1:
        models = dict.fromkeys(f"{file.header.model or '?'} {file.header.machine[:4]}" for file in files)
        yield finding("region_machines", {"machines": list(models)})
    if not by_file:
        yield finding("region_one_file", {"wanted": USEFUL_FILES})
    if timer is None:
        yield finding("region_limit_unknown", {"quantum_ns": None})
    elif fail_above is not None:
        for d in differences:
            if d.calls is not None and d.visible_from_ns is not None and d.visible_from_ns > fail_above * d.old_ns:
                share = d.visible_from_ns / max(d.old_ns, 0.1)
                yield finding("region_coarse", {"name": d.name, "share": share, "calls": d.calls})
