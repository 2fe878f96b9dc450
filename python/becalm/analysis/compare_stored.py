"""The comparison of stored sessions, as pure functions; the verb calls `compare_sessions`.

All intervals hold jointly. Where a side has repeated sessions, these are the unit (`becalm.stats.sessions`), and the
benchmarks of one unit together tell how far sessions shift (`becalm.stats.suite_spread`). Where programs that never
change were measured in both sessions, these show the shift. A shift that the user vouches for widens the interval of
the runs by as much to each side. Without any of these the runs alone make the interval, and a limit stays undecided.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from becalm.analysis.compare import difference
from becalm.analysis.compare_identity import align
from becalm.analysis.limit import gate
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
from becalm.stats.log_ratio import relative_difference
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.sessions import locations, over_references, over_sessions
from becalm.stats.suite_spread import SuiteSpread, suite_spread
from becalm.stats.unpaired import unpaired
from becalm.units import join_names
from becalm.wording.findings import finding

RESEMBLES = 0.75
"""The similarity (difflib's ratio) above which two names may belong to one benchmark."""


def compare_sessions(
    old: Sequence[StoredSession],
    new: Sequence[StoredSession],
    *,
    confidence: float,
    shift: float | None,
    fail_above: float | None,
    undecided: str,
) -> StoredComparison:
    """Return the comparison of each benchmark that both sides have; sessions of a side repeat the same programs."""
    (old, new), alignment_findings = align(old, new)
    names = [
        list(dict.fromkeys(name for session in side for name in (*session.series, *session.unusable)))
        for side in (old, new)
    ]
    references = {name for side in (*old, *new) for name in side.references}
    unchanged = [
        name for name in names[0] if all(name in side.references and name in side.series for side in (*old, *new))
    ]
    names = [[name for name in side if name not in references] for side in names]
    pairs = [(name, name) for name in names[0] if name in set(names[1])]
    if not pairs and len(names[0]) == len(names[1]) == 1:
        # A single program on each side is compared whatever the names are.
        pairs = [(names[0][0], names[1][0])]
    gone = tuple(name for name in names[0] if name not in {old_name for old_name, _ in pairs})
    added = tuple(name for name in names[1] if name not in {new_name for _, new_name in pairs})
    units, unusable, compared = [], [], []
    for old_name, new_name in pairs:
        sides = [side for side, name in ((old, old_name), (new, new_name))]
        series = [_series(side, name) for side, name in zip(sides, (old_name, new_name), strict=True)]
        kinds = [{(session.unit, session.metric) for session in side} for side in series]
        if not all(series):
            unusable.append((old_name, _unusable_reason(sides, (old_name, new_name))))
        elif len(kinds[0] | kinds[1]) > 1:
            units.append((old_name, _units(kinds[0]), _units(kinds[1])))
        else:
            compared.append((old_name, new_name, series))
    alpha = simultaneous_alpha(1 - confidence, max(1, len(compared)))
    single = len(old) == len(new) == 1 and shift is None
    reference_logs = [(_logs(old[0], name), _logs(new[0], name)) for name in unchanged if single]
    suites = (
        {}
        if reference_logs
        else _suites([series for _, _, series in compared], [_one_side(old, new, name) for name in unchanged])
    )
    benchmarks = tuple(
        _compare(old_name, new_name, series, alpha, confidence, shift, reference_logs, suites.get(_kind(series)))
        for old_name, new_name, series in compared
    )
    comparison = StoredComparison(
        old=tuple(session.title for session in old),
        new=tuple(session.title for session in new),
        confidence=confidence,
        shift=shift,
        benchmarks=benchmarks,
        gone=gone,
        added=added,
        renamed=_renamed(gone, added),
        units=tuple(units),
        unusable=tuple(unusable),
        references=tuple(unchanged) if reference_logs else (),
        suites=tuple(
            SuiteShift(metric, unit, suite.benchmarks, relative_difference(math.sqrt(suite.prior.value)), suite.freedom)
            for (unit, metric), suite in suites.items()
        ),
        fail_above=fail_above,
        undecided=undecided,
        findings=(*_left_out((*old, *new)), *alignment_findings),
    )
    return replace(comparison, gate=_gate(comparison))


Series = Sequence[Sequence[SessionSeries]]
"""The sessions of one benchmark, of the old side and of the new one."""


def _kind(series: Series) -> tuple[str, str]:
    """Return the unit and metric of a benchmark; sessions shift all benchmarks of one kind alike."""
    return series[0][0].unit, series[0][0].metric


def _one_side(old: Sequence[StoredSession], new: Sequence[StoredSession], name: str) -> list[list[SessionSeries]]:
    """Return the sessions of an unchanging program in old and new as those of one side."""
    return [_series((*old, *new), name)]


def _suites(compared: Sequence[Series], unchanged: Sequence[Series]) -> dict[tuple[str, str], SuiteSpread]:
    """Return the shift between sessions, from the benchmarks of each unit and metric that are numerous enough."""
    groups: dict[tuple[str, str], list[list[Floats]]] = {}
    for series in (*compared, *unchanged):
        if sum(len(side) - 1 for side in series) > 0:
            sides = [locations([np.log(session.values) for session in side]) for side in series]
            groups.setdefault(_kind(series), []).append(sides)
    spreads = {kind: suite_spread(group) for kind, group in groups.items()}
    return {kind: spread for kind, spread in spreads.items() if spread is not None}


def _left_out(sessions: Sequence[StoredSession]) -> Iterator[Finding]:
    """Yield a finding for content of a file that no session has, with the title of the session."""
    for session in sessions:
        for note in session.left_out:
            yield finding(note.kind, {**note.numbers, "of": session.title})


def _logs(session: StoredSession, name: str) -> Floats:
    return np.log(session.series[name].values)


def _series(side: Sequence[StoredSession], name: str) -> list[SessionSeries]:
    return [session.series[name] for session in side if name in session.series]


def _unusable_reason(sides: Sequence[Sequence[StoredSession]], names: tuple[str, str]) -> str:
    reasons = [
        session.unusable[name]
        for side, name in zip(sides, names, strict=True)
        for session in side
        if name in session.unusable
    ]
    return reasons[0] if reasons else ""


def _units(kinds: set[tuple[str, str]]) -> str:
    return join_names(sorted(f"{metric} in {unit}" if unit else metric for unit, metric in kinds))


def _compare(
    name: str,
    other: str,
    series: Sequence[Sequence[SessionSeries]],
    alpha: float,
    confidence: float,
    shift: float | None,
    unchanged: Sequence[tuple[Floats, Floats]],
    suite: SuiteSpread | None,
) -> BenchmarkDifference:
    logs = [[np.log(session.values) for session in side] for side in series]
    first = series[0][0]
    joined = [np.concatenate(side) for side in logs]
    by_runs = unpaired(joined[0], joined[1], alpha)
    between: float | None = None
    estimate, low, high = by_runs.estimate, by_runs.low, by_runs.high
    error, smallest, p_value = by_runs.standard_error, by_runs.detectable, by_runs.p_value
    if unchanged or len(logs[0]) + len(logs[1]) > 2:
        if unchanged:
            by_sessions = over_references(joined[0], joined[1], unchanged, alpha)
        else:
            by_sessions = over_sessions(logs[0], logs[1], alpha, suite)
        between = by_sessions.between
        estimate, low, high = by_sessions.estimate, by_sessions.low, by_sessions.high
        error, smallest, p_value = by_sessions.standard_error, by_sessions.detectable, by_sessions.p_value
    elif shift is not None:
        reach = math.log1p(shift)
        low, high, smallest = low - reach, high + reach, smallest + reach
        p_value = math.nan
    time = first.unit == "ns" and first.better is Better.LOWER
    metric = None if time else Metric("", first.metric, first.unit, first.better)
    runs = [sum(len(session.values) for session in side) for side in series]
    log_difference = difference(
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
        difference=log_difference,
        by_runs=(relative_difference(by_runs.low), relative_difference(by_runs.high)),
        shift=None if between is None else relative_difference(between),
    )


def _typical(sessions: Sequence[Floats]) -> float:
    """Return the typical value of a side; the ratio of two such values is the reported difference."""
    return math.exp(sum(location(session).estimate for session in sessions) / len(sessions))


def _gate(comparison: StoredComparison) -> Gate | None:
    """Return the state of the limit, undecided while the shift between sessions is unknown; None without a limit."""
    if comparison.fail_above is None:
        return None
    complete = comparison.bounded and not comparison.units and not comparison.unusable
    judged = gate([benchmark.difference for benchmark in comparison.benchmarks], comparison.fail_above)
    bounded = [
        benchmark.difference
        for benchmark in comparison.benchmarks
        if benchmark.shift is not None or comparison.shift is not None
    ]
    if gate(bounded, comparison.fail_above) is Gate.ABOVE:
        return Gate.ABOVE
    return judged if complete else Gate.UNDECIDED


def _renamed(gone: Sequence[str], added: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of names that may be one benchmark; a name is in one of them at most."""
    candidates, pairs = list(added), []
    for name in gone:
        if near := difflib.get_close_matches(name, candidates, n=1, cutoff=RESEMBLES):
            candidates.remove(near[0])
            pairs.append((name, near[0]))
    return tuple(pairs)
