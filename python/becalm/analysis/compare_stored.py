"""Sessions to a StoredComparison: pure, as all of this folder. `compare_sessions` is called by the verb.

Every interval holds together with all others. Where a side has repeated sessions they are the unit
(`becalm.stats.sessions`), and benchmarks of one unit tell together how far these shift (`becalm.stats.suite_spread`);
where programs that never change were measured in both, it is these. A shift that the person vouches for widens the
interval of the runs by as much to each side; without any of these it is the interval of the runs alone, which a limit
does not believe.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from becalm.analysis.compare import difference, gate
from becalm.analysis.compare_identity import aligned
from becalm.nouns.finding import Finding
from becalm.nouns.metric import Better, Metric
from becalm.results.compare import Gate
from becalm.results.compare_stored import (
    BenchmarkDifference,
    SessionSeries,
    StoredComparison,
    StoredSession,
    SuiteShift,
)
from becalm.stats.arrays import Floats
from becalm.stats.huber import location
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.sessions import over_references, over_sessions, places
from becalm.stats.suite_spread import SuiteSpread, suite_spread
from becalm.stats.unpaired import unpaired
from becalm.units import listed
from becalm.wording.findings import finding

RESEMBLES = 0.75
"""Names that share so much (difflib's ratio) may be of one benchmark."""


def compare_sessions(
    old: Sequence[StoredSession],
    new: Sequence[StoredSession],
    *,
    confidence: float,
    shift: float | None,
    fail_above: float | None,
    undecided: str,
) -> StoredComparison:
    """Each benchmark that both sides have; the sessions of a side count as repeated ones of the same programs."""
    (old, new), noticed = aligned(old, new)
    names = [
        list(dict.fromkeys(name for each in side for name in (*each.series, *each.unusable))) for side in (old, new)
    ]
    never = {name for side in (*old, *new) for name in side.references}
    unchanged = [
        name for name in names[0] if all(name in side.references and name in side.series for side in (*old, *new))
    ]
    names = [[name for name in side if name not in never] for side in names]
    pairs = [(name, name) for name in names[0] if name in set(names[1])]
    if not pairs and len(names[0]) == len(names[1]) == 1:
        # One program on each side is what a person means, whatever they are called.
        pairs = [(names[0][0], names[1][0])]
    gone = tuple(name for name in names[0] if name not in {one for one, _ in pairs})
    added = tuple(name for name in names[1] if name not in {other for _, other in pairs})
    units, unusable, both = [], [], []
    for one, other in pairs:
        sides = [side for side, name in ((old, one), (new, other))]
        series = [_series(side, name) for side, name in zip(sides, (one, other), strict=True)]
        kinds = [{(each.unit, each.metric) for each in side} for side in series]
        if not all(series):
            unusable.append((one, _why(sides, (one, other))))
        elif len(kinds[0] | kinds[1]) > 1:
            units.append((one, _units(kinds[0]), _units(kinds[1])))
        else:
            both.append((one, other, series))
    alpha = simultaneous_alpha(1 - confidence, max(1, len(both)))
    single = len(old) == len(new) == 1 and shift is None
    still = [(_logs(old[0], name), _logs(new[0], name)) for name in unchanged if single]
    suites = {} if still else _suites([series for _, _, series in both], [_both(old, new, name) for name in unchanged])
    found = tuple(
        _compared(one, other, series, alpha, confidence, shift, still, suites.get(_kind(series)))
        for one, other, series in both
    )
    comparison = StoredComparison(
        old=tuple(session.title for session in old),
        new=tuple(session.title for session in new),
        confidence=confidence,
        shift=shift,
        benchmarks=found,
        gone=gone,
        added=added,
        renamed=_renamed(gone, added),
        units=tuple(units),
        unusable=tuple(unusable),
        references=tuple(unchanged) if still else (),
        suites=tuple(
            SuiteShift(metric, unit, suite.benchmarks, _fraction(math.sqrt(suite.prior.value)), suite.freedom)
            for (unit, metric), suite in suites.items()
        ),
        fail_above=fail_above,
        undecided=undecided,
        findings=(*_left_out((*old, *new)), *noticed),
    )
    return replace(comparison, gate=_gate(comparison))


Series = Sequence[Sequence[SessionSeries]]
"""One benchmark's sessions, of the old side and of the new one."""


def _kind(series: Series) -> tuple[str, str]:
    """Return unit and metric of a benchmark: those of one kind shift alike."""
    return series[0][0].unit, series[0][0].metric


def _both(old: Sequence[StoredSession], new: Sequence[StoredSession], name: str) -> list[list[SessionSeries]]:
    """Return the sessions of a program that never changes, as those of one side."""
    return [_series((*old, *new), name)]


def _suites(compared: Sequence[Series], unchanged: Sequence[Series]) -> dict[tuple[str, str], SuiteSpread]:
    """Return what the benchmarks of each unit and metric tell of the shift between sessions, where they are enough."""
    groups: dict[tuple[str, str], list[list[Floats]]] = {}
    for series in (*compared, *unchanged):
        if sum(len(side) - 1 for side in series) > 0:
            sides = [places([np.log(session.values) for session in side]) for side in series]
            groups.setdefault(_kind(series), []).append(sides)
    spreads = {kind: suite_spread(group) for kind, group in groups.items()}
    return {kind: spread for kind, spread in spreads.items() if spread is not None}


def _left_out(sessions: Sequence[StoredSession]) -> Iterator[Finding]:
    """Yield what files hold and no session has, with the name of each file."""
    for session in sessions:
        for each in session.left_out:
            yield finding(each.kind, {**each.numbers, "of": session.title})


def _logs(session: StoredSession, name: str) -> Floats:
    return np.log(session.series[name].values)


def _series(side: Sequence[StoredSession], name: str) -> list[SessionSeries]:
    return [session.series[name] for session in side if name in session.series]


def _why(sides: Sequence[Sequence[StoredSession]], names: tuple[str, str]) -> str:
    reasons = [
        each.unusable[name] for side, name in zip(sides, names, strict=True) for each in side if name in each.unusable
    ]
    return reasons[0] if reasons else ""


def _units(kinds: set[tuple[str, str]]) -> str:
    return listed(sorted(f"{metric} in {unit}" if unit else metric for unit, metric in kinds))


def _compared(
    name: str,
    other: str,
    series: Sequence[Sequence[SessionSeries]],
    alpha: float,
    confidence: float,
    shift: float | None,
    unchanged: Sequence[tuple[Floats, Floats]],
    suite: SuiteSpread | None,
) -> BenchmarkDifference:
    logs = [[np.log(each.values) for each in side] for side in series]
    first = series[0][0]
    joined = [np.concatenate(side) for side in logs]
    alone = unpaired(joined[0], joined[1], alpha)
    between: float | None = None
    estimate, low, high = alone.estimate, alone.low, alone.high
    error, smallest, p_value = alone.standard_error, alone.detectable, alone.p_value
    if unchanged or len(logs[0]) + len(logs[1]) > 2:
        if unchanged:
            over = over_references(joined[0], joined[1], unchanged, alpha)
        else:
            over = over_sessions(logs[0], logs[1], alpha, suite)
        between = over.between
        estimate, low, high = over.estimate, over.low, over.high
        error, smallest, p_value = over.standard_error, over.detectable, over.p_value
    elif shift is not None:
        reach = math.log1p(shift)
        low, high, smallest = low - reach, high + reach, smallest + reach
        p_value = math.nan
    time = first.unit == "ns" and first.better is Better.LOWER
    metric = None if time else Metric("", first.metric, first.unit, first.better)
    runs = [sum(len(each.values) for each in side) for side in series]
    made = difference(
        name if name == other else other,
        name,
        (estimate, low, high),
        confidence=confidence,
        pairs=min(runs),
        detectable=smallest,
        p_value=p_value,
        standard_error=error,
        weak=True,
        metric=metric,
    )
    return BenchmarkDifference(
        name=name if name == other else f"{name} → {other}",
        unit=first.unit,
        old=_typical(logs[0]),
        new=_typical(logs[1]),
        old_runs=runs[0],
        new_runs=runs[1],
        old_sessions=len(series[0]),
        new_sessions=len(series[1]),
        difference=made,
        by_runs=(_fraction(alone.low), _fraction(alone.high)),
        shift=None if between is None else _fraction(between),
    )


def _typical(sessions: Sequence[Floats]) -> float:
    """The value whose ratios are the difference: what is shown beside a change must not contradict it."""
    return math.exp(sum(location(session).estimate for session in sessions) / len(sessions))


def _fraction(log: float) -> float:
    return math.expm1(log) if log < 700 else math.inf


def _gate(comparison: StoredComparison) -> Gate | None:
    """Return the result of the limit, undecided while the shift between sessions is not known; None without a limit."""
    if comparison.fail_above is None:
        return None
    known = comparison.bounded and not comparison.units and not comparison.unusable
    judged = gate([benchmark.difference for benchmark in comparison.benchmarks], comparison.fail_above)
    believed = [
        benchmark.difference
        for benchmark in comparison.benchmarks
        if benchmark.shift is not None or comparison.shift is not None
    ]
    if gate(believed, comparison.fail_above) is Gate.ABOVE:
        return Gate.ABOVE
    return judged if known else Gate.UNDECIDED


def _renamed(gone: Sequence[str], added: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs that may be one benchmark; each name in one of them at most."""
    left, found = list(added), []
    for name in gone:
        if near := difflib.get_close_matches(name, left, n=1, cutoff=RESEMBLES):
            left.remove(near[0])
            found.append((name, near[0]))
    return tuple(found)
