"""The timeline of a project from its sessions: put in order, joined where they are comparable, searched for changes.

`timeline` is a function of the recorded sessions. Sessions of one machine under one kernel and the same settings are
comparable. Two machines are joined where commits were measured on both, with at least `BRIDGE` sessions on each side:
the difference between these sessions is subtracted, and its uncertainty enters that of the sessions around the join. A
benchmark is identified by name and unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from becalm.analysis.history_searches import Searches
from becalm.analysis.history_table import BRIDGE, NORMAL, SIDE, Key, RecordedSession, SessionTable, chains_of
from becalm.nouns.finding import Finding
from becalm.results.history import Against, Benchmark, BenchmarkChange, HistoryMachine, HistorySession, Point, Timeline
from becalm.stats.arrays import Ints
from becalm.stats.change_points import RATE, ChangePoint
from becalm.wording import history as words
from becalm.wording.findings import finding


def timeline(
    project: str,
    recorded: Sequence[RecordedSession],
    *,
    order: Mapping[str, int] | None = None,
    renamed: Mapping[str, str] | None = None,
    rate: float = RATE,
    baseline: str = "",
    links: str = "",
    searches: Searches | None = None,
) -> Timeline:
    """Return the history of a project.

    Arguments:
        recorded: sessions in the order in which they were measured.
        order: positions of commits in git's history, of those that the repository has.
        renamed: new names of benchmarks by their old ones.
        rate: false alarms per commit over all benchmarks.
        baseline: name of a session to compare the present with.
        links: URL of a commit, with {commit} in it.
        searches: states of an earlier history of the same sessions; those of this one are added.
    """
    searches = searches or Searches()
    ordered, basis = in_order([_rename(recorded, renamed or {}) for recorded in recorded], order or {})
    names = list(dict.fromkeys(session.machine for session in ordered))
    table = SessionTable.of(ordered, names)
    chains, bridges = chains_of(table)
    sessions = tuple(replace(session.session, machine=names.index(session.machine)) for session in ordered)
    changes: list[BenchmarkChange] = []
    strays: list[tuple[int, int]] = []
    state: dict[Key, tuple[float, int, float]] = {}
    for chain in dict.fromkeys(chains):
        rows = np.array([i for i, session in enumerate(sessions) if chains[session.machine] == chain])
        y, errors = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
        search_result = searches.changes(y, table.marks[rows], errors, rate).changes()
        strays += [(int(rows[row]), column) for row, column in search_result.strays]
        changes += [_change(change, chain, rows, table, sessions) for change in search_result.changes]
        for column, key in enumerate(table.keys):
            if not np.isnan(y[:, column]).all():
                visible = math.expm1(float(search_result.visible[column]))
                state[key] = (float(search_result.noise[column]), int(search_result.lacking[column]), visible)
    machines = tuple(
        HistoryMachine(*machine, sum(s.machine == i for s in sessions), chains[i], bridges[i])
        for i, machine in enumerate(names)
    )
    benchmarks = _benchmarks(table, ordered, state)
    changes.sort(key=lambda change: (change.at, change.seen_at, change.benchmark is None, change.benchmark or 0))
    history = Timeline(project, basis, rate, sessions, machines, benchmarks, tuple(changes), links=links)
    history = replace(
        history, findings=(*_lost(history, order or {}), *_findings(history, table), *_strays(history, strays))
    )
    history = _with_baseline(history, table, chains, baseline) if baseline else history
    return replace(history, sentence=words.history(history))


def in_order(recorded: Sequence[RecordedSession], order: Mapping[str, int]) -> tuple[list[RecordedSession], str]:
    """Return sessions in the order of their commits, and the basis of that order; a clock is the last resort."""
    sessions = [row.session for row in recorded]
    if sessions and any(session.commit in order for session in sessions):
        places, basis = _git_places(sessions, order), "git"
    elif sessions and all(session.ordinal is not None for session in sessions):
        places, basis = [float(session.ordinal or 0) for session in sessions], "ordinal"
    elif sessions and all(session.commit_ns is not None for session in sessions):
        places, basis = [float(session.commit_ns or 0) for session in sessions], "commit date"
    else:
        # Sessions of one commit stay together: a later session is not a later commit.
        firsts: dict[str, int] = {}
        places = [float(firsts.setdefault(session.commit, len(firsts))) for session in sessions]
        basis = "as recorded"
    ranked = sorted(range(len(recorded)), key=lambda i: (places[i], sessions[i].study))
    return [recorded[i] for i in ranked], basis


def _git_places(sessions: Sequence[HistorySession], order: Mapping[str, int]) -> list[float]:
    """Return the place of each session in git's history.

    Sessions of a commit that git lacks are put behind the last commit with at most as many ancestors, or, where that is
    unknown, behind the commit measured before.
    """
    known_sessions = [session for session in sessions if session.commit in order]
    places: dict[str, float] = {}
    for session in sorted(sessions, key=lambda session: session.study):
        if session.commit in order or session.commit in places:
            continue
        if session.ordinal is not None and all(other.ordinal is not None for other in known_sessions):
            earlier = [other for other in known_sessions if (other.ordinal or 0) <= session.ordinal]
        else:
            earlier = sorted((o for o in known_sessions if o.study < session.study), key=lambda other: other.study)[-1:]
        # Several behind one commit keep the order of their numbers of ancestors.
        fraction = 1 - 1 / (2 + max(0, session.ordinal or 0))
        places[session.commit] = max((order[other.commit] for other in earlier), default=-1) + fraction
    return [order[session.commit] if session.commit in order else places[session.commit] for session in sessions]


def _change(
    point: ChangePoint, chain: int, rows: Ints, table: SessionTable, sessions: Sequence[HistorySession]
) -> BenchmarkChange:
    at, seen_at = int(rows[point.at]), int(rows[point.detected_at])
    measured_rows = rows if point.series < 0 else [row for row in rows if not math.isnan(table.y[row, point.series])]
    before = max(int(row) for row in measured_rows if row < at)
    first, last = sessions[before].ordinal, sessions[at].ordinal
    higher_is_better = point.series >= 0 and table.higher[point.series]
    return BenchmarkChange(
        benchmark=None if point.series < 0 else point.series,
        chain=chain,
        last_before=before,
        at=at,
        seen_at=seen_at,
        unmeasured=None if first is None or last is None else max(0, last - first - 1),
        size=math.expm1(point.size),
        low=math.expm1(point.low),
        high=math.expm1(point.high),
        worse=(point.size > 0) is not higher_is_better,
        one_in=1 / max(point.chance, 1e-15),
    )


def _benchmarks(
    table: SessionTable, recorded: Sequence[RecordedSession], state: Mapping[Key, tuple[float, int, float]]
) -> tuple[Benchmark, ...]:
    """Return all benchmarks with their points, in the order of the table."""
    points: dict[Key, list[Point]] = {key: [] for key in table.keys}
    for i, row in enumerate(recorded):
        for measurement in row.measured:
            if measurement.runs:
                points[measurement.key].append(
                    Point(i, measurement.value, measurement.low, measurement.high, measurement.runs, measurement.failed)
                )
    references = {name for row in recorded for name in row.references}
    last_keys = {measurement.key for measurement in recorded[-1].measured if measurement.runs} if recorded else set()
    benchmarks = []
    for column, key in enumerate(table.keys):
        noise, lacking, visible = state.get(key, (math.nan, 0, math.nan))
        benchmarks.append(
            Benchmark(
                key[0],
                key[1],
                table.higher[column],
                key[0] in references,
                tuple(points[key]),
                noise,
                lacking,
                visible,
                key not in last_keys,
            )
        )
    return tuple(benchmarks)


def _rename(recorded: RecordedSession, new_names: Mapping[str, str]) -> RecordedSession:
    if not new_names:
        return recorded
    benchmarks = tuple(
        replace(benchmark, name=new_names.get(benchmark.name, benchmark.name)) for benchmark in recorded.measured
    )
    return replace(recorded, measured=benchmarks)


def _strays(history: Timeline, strays: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return a finding on single values far from those of the sessions around them; empty without such values."""
    if not strays:
        return []
    values = [[history.benchmarks[column].name, history.sessions[row].commit] for row, column in sorted(strays)]
    return [
        finding(
            "stray_sessions", {"values": values, "of": sum(len(benchmark.points) for benchmark in history.benchmarks)}
        )
    ]


def _findings(timeline: Timeline, table: SessionTable) -> list[Finding]:
    findings = []
    for i, machine in enumerate(timeline.machines):
        if i and not machine.bridges:
            first = next(session for session in timeline.sessions if session.machine == i)
            identity = {"machine": machine.name, "kernel": machine.kernel}
            findings.append(finding("other_machine", {**identity, "commit": first.commit, "needed": BRIDGE}))
    units: dict[str, list[str]] = {}
    for name, unit in table.keys:
        units.setdefault(name, []).append(unit)
    findings += [
        finding("other_unit", {"units": unit_names}, name) for name, unit_names in units.items() if len(unit_names) > 1
    ]
    findings += _renames(timeline)
    # Results of other tools are not imported in the order in which they were measured.
    moments = sorted(
        (session for session in timeline.sessions if not session.source), key=lambda session: session.study
    )
    backward_steps = sum(b.when_ns < a.when_ns for a, b in pairwise(moments) if a.machine == b.machine)
    if backward_steps:
        findings.append(finding("clock_stepped", {"times": backward_steps, "order": timeline.order}))
    if changed := sum(session.changed for session in timeline.sessions):
        findings.append(finding("uncommitted", {"sessions": changed}))
    return findings


def _lost(history: Timeline, order: Mapping[str, int]) -> list[Finding]:
    """Return a finding on the commits that the repository does not have, if it has others."""
    lost = list(dict.fromkeys(session.commit for session in history.sessions if session.commit not in order))
    return [finding("lost_commits", {"commits": lost})] if order and lost else []


def _renames(history: Timeline) -> list[Finding]:
    """Return a finding on each benchmark that is gone, with those that began in the next session: it may be renamed."""
    first_seen: dict[int, list[Benchmark]] = {}
    for benchmark in history.benchmarks:
        if benchmark.points and benchmark.points[0].session:
            first_seen.setdefault(benchmark.points[0].session, []).append(benchmark)
    findings = []
    for benchmark in history.benchmarks:
        if benchmark.gone and benchmark.points:
            last = benchmark.points[-1].session
            new = [other.name for other in first_seen.get(last + 1, ()) if other.unit == benchmark.unit]
            numbers = {"commit": history.sessions[last].commit, "new": new}
            findings.append(finding("gone", numbers, benchmark.name))
    return findings


def _with_baseline(timeline: Timeline, table: SessionTable, chains: Sequence[int], name: str) -> Timeline:
    """Return the timeline with present levels compared to a named session, for benchmarks that are joined with it."""
    base = max((i for i, session in enumerate(timeline.sessions) if session.baseline == name), default=None)
    if base is None:
        return timeline
    chain = chains[timeline.sessions[base].machine]
    rows = np.array([i for i, session in enumerate(timeline.sessions) if chains[session.machine] == chain])
    y, _ = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
    place = int(np.flatnonzero(rows == base)[0])
    comparisons = []
    for column, benchmark in enumerate(timeline.benchmarks):
        since = max((c.at for c in timeline.changes if c.benchmark == column), default=0)
        recent = np.array([i for i, row in enumerate(rows) if row >= since and not math.isnan(y[i, column])])[-SIDE:]
        if math.isnan(y[place, column]) or not len(recent) or not math.isfinite(benchmark.noise):
            continue
        size = float(y[recent, column].mean() - y[place, column])
        half_width = NORMAL * benchmark.noise * math.sqrt(1 + 1 / len(recent))
        comparisons.append(Against(column, *map(math.expm1, (size, size - half_width, size + half_width))))
    return replace(timeline, baseline=base, against=tuple(comparisons))
