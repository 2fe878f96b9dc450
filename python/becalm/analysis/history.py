"""Sessions of benchmarks to a Timeline: put in order, joined where they are comparable, searched for changes.

`timeline` is a function of what the sessions say (`RecordedSession`). Sessions of one machine under one kernel and the
same settings are comparable. Two machines are joined where commits were measured on both, `BRIDGE` sessions on each
side at least: the difference of those is taken away, and its own uncertainty is part of what is said of the sessions
around. Benchmarks are told apart by name and unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

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
    """The history of a project.

    Arguments:
        recorded: sessions in the order in which they were measured.
        order: positions of commits as git has them, of those that it knows.
        renamed: old names of benchmarks to new ones.
        rate: false alarms per commit over all benchmarks.
        baseline: name of a session to compare the present with.
        links: URL of a commit, with {commit} in it.
        searches: states of an earlier history of the same sessions, and where those of this one go.
    """
    searches = searches or Searches()
    ordered, basis = in_order([_renamed(recorded, renamed or {}) for recorded in recorded], order or {})
    names = list(dict.fromkeys(each.machine for each in ordered))
    table = SessionTable.of(ordered, names)
    chains, bridges = chains_of(table)
    sessions = tuple(replace(each.session, machine=names.index(each.machine)) for each in ordered)
    changes: list[BenchmarkChange] = []
    strays: list[tuple[int, int]] = []
    state: dict[Key, tuple[float, int, float]] = {}
    for chain in dict.fromkeys(chains):
        rows = np.array([i for i, each in enumerate(sessions) if chains[each.machine] == chain])
        y, errors = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
        found = searches.changes(y, table.marks[rows], errors, rate).changes()
        strays += [(int(rows[row]), column) for row, column in found.strays]
        changes += [_change(change, chain, rows, table, sessions) for change in found.changes]
        for column, key in enumerate(table.keys):
            if not np.isnan(y[:, column]).all():
                visible = math.expm1(float(found.visible[column]))
                state[key] = (float(found.noise[column]), int(found.lacking[column]), visible)
    machines = tuple(
        HistoryMachine(*each, sum(s.machine == i for s in sessions), chains[i], bridges[i])
        for i, each in enumerate(names)
    )
    benchmarks = _benchmarks(table, ordered, state)
    changes.sort(key=lambda change: (change.at, change.found, change.benchmark is None, change.benchmark or 0))
    made = Timeline(project, basis, rate, sessions, machines, benchmarks, tuple(changes), links=links)
    made = replace(made, findings=(*_lost(made, order or {}), *_findings(made, table), *_strays(made, strays)))
    made = _against(made, table, chains, baseline) if baseline else made
    return replace(made, sentence=words.history(made))


def in_order(recorded: Sequence[RecordedSession], order: Mapping[str, int]) -> tuple[list[RecordedSession], str]:
    """Return sessions in the order of their commits, and what that rests on: no clock where it can be helped."""
    sessions = [row.session for row in recorded]
    if sessions and any(session.commit in order for session in sessions):
        places, basis = _among_known(sessions, order), "git"
    elif sessions and all(session.ordinal is not None for session in sessions):
        places, basis = [float(session.ordinal or 0) for session in sessions], "ordinal"
    elif sessions and all(session.commit_ns is not None for session in sessions):
        places, basis = [float(session.commit_ns or 0) for session in sessions], "commit date"
    else:
        # Sessions of one commit stay together: a later one is no later commit.
        firsts: dict[str, int] = {}
        places = [float(firsts.setdefault(session.commit, len(firsts))) for session in sessions]
        basis = "as recorded"
    ranked = sorted(range(len(recorded)), key=lambda i: (places[i], sessions[i].study))
    return [recorded[i] for i in ranked], basis


def _among_known(sessions: Sequence[HistorySession], order: Mapping[str, int]) -> list[float]:
    """Return the place of each session, those of commits that git does not have behind one that it has.

    That is the last one with no more commits behind it; where that is not known, the one that was measured before.
    """
    known = [session for session in sessions if session.commit in order]
    places: dict[str, float] = {}
    for session in sorted(sessions, key=lambda session: session.study):
        if session.commit in order or session.commit in places:
            continue
        if session.ordinal is not None and all(other.ordinal is not None for other in known):
            earlier = [other for other in known if (other.ordinal or 0) <= session.ordinal]
        else:
            earlier = sorted((o for o in known if o.study < session.study), key=lambda other: other.study)[-1:]
        # Several behind one keep the order of their own numbers of commits.
        within = 1 - 1 / (2 + max(0, session.ordinal or 0))
        places[session.commit] = max((order[other.commit] for other in earlier), default=-1) + within
    return [order[session.commit] if session.commit in order else places[session.commit] for session in sessions]


def _change(
    point: ChangePoint, chain: int, rows: Ints, table: SessionTable, sessions: Sequence[HistorySession]
) -> BenchmarkChange:
    at, seen = int(rows[point.at]), int(rows[point.found])
    has = rows if point.series < 0 else [row for row in rows if not math.isnan(table.y[row, point.series])]
    before = max(int(row) for row in has if row < at)
    first, last = sessions[before].ordinal, sessions[at].ordinal
    turned = point.series >= 0 and table.higher[point.series]
    return BenchmarkChange(
        benchmark=None if point.series < 0 else point.series,
        chain=chain,
        last_before=before,
        at=at,
        found=seen,
        unmeasured=None if first is None or last is None else max(0, last - first - 1),
        size=math.expm1(point.size),
        low=math.expm1(point.low),
        high=math.expm1(point.high),
        worse=(point.size > 0) is not turned,
        one_in=1 / max(point.chance, 1e-15),
    )


def _benchmarks(
    table: SessionTable, recorded: Sequence[RecordedSession], state: Mapping[Key, tuple[float, int, float]]
) -> tuple[Benchmark, ...]:
    """Return all benchmarks with their points, in the order of the table."""
    points: dict[Key, list[Point]] = {key: [] for key in table.keys}
    for i, row in enumerate(recorded):
        for part in row.measured:
            if part.runs:
                points[part.key].append(Point(i, part.value, part.low, part.high, part.runs, part.failed))
    references = {name for row in recorded for name in row.references}
    last = {part.key for part in recorded[-1].measured if part.runs} if recorded else set()
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
                key not in last,
            )
        )
    return tuple(benchmarks)


def _renamed(recorded: RecordedSession, renamed: Mapping[str, str]) -> RecordedSession:
    if not renamed:
        return recorded
    measured = tuple(replace(each, name=renamed.get(each.name, each.name)) for each in recorded.measured)
    return replace(recorded, measured=measured)


def _strays(made: Timeline, strays: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return a finding that names single values that lie far from those of the sessions around them, if there are."""
    if not strays:
        return []
    values = [[made.benchmarks[column].name, made.sessions[row].commit] for row, column in sorted(strays)]
    return [finding("stray_sessions", {"values": values, "of": sum(len(part.points) for part in made.benchmarks)})]


def _findings(timeline: Timeline, table: SessionTable) -> list[Finding]:
    findings = []
    for i, machine in enumerate(timeline.machines):
        if i and not machine.bridges:
            first = next(session for session in timeline.sessions if session.machine == i)
            which = {"machine": machine.name, "kernel": machine.kernel}
            findings.append(finding("other_machine", {**which, "commit": first.commit, "needed": BRIDGE}))
    units: dict[str, list[str]] = {}
    for name, unit in table.keys:
        units.setdefault(name, []).append(unit)
    findings += [finding("other_unit", {"units": each}, name) for name, each in units.items() if len(each) > 1]
    findings += _renames(timeline)
    # Results of other tools are not imported in the order in which they were measured.
    moments = sorted(
        (session for session in timeline.sessions if not session.source), key=lambda session: session.study
    )
    back = sum(b.when_ns < a.when_ns for a, b in pairwise(moments) if a.machine == b.machine)
    if back:
        findings.append(finding("clock_stepped", {"times": back, "order": timeline.order}))
    if changed := sum(session.changed for session in timeline.sessions):
        findings.append(finding("uncommitted", {"sessions": changed}))
    return findings


def _lost(made: Timeline, order: Mapping[str, int]) -> list[Finding]:
    """Return a finding that names the commits which the repository does not have, where it has others."""
    lost = list(dict.fromkeys(session.commit for session in made.sessions if session.commit not in order))
    return [finding("lost_commits", {"commits": lost})] if order and lost else []


def _renames(made: Timeline) -> list[Finding]:
    """Benchmarks that are gone, each with those that came with the next session: perhaps it has another name."""
    begun: dict[int, list[Benchmark]] = {}
    for benchmark in made.benchmarks:
        if benchmark.points and benchmark.points[0].session:
            begun.setdefault(benchmark.points[0].session, []).append(benchmark)
    findings = []
    for benchmark in made.benchmarks:
        if benchmark.gone and benchmark.points:
            last = benchmark.points[-1].session
            new = [other.name for other in begun.get(last + 1, ()) if other.unit == benchmark.unit]
            numbers = {"commit": made.sessions[last].commit, "new": new}
            findings.append(finding("gone", numbers, benchmark.name))
    return findings


def _against(timeline: Timeline, table: SessionTable, chains: Sequence[int], name: str) -> Timeline:
    """The present levels against a named session; benchmarks that are not joined with it have no answer."""
    base = max((i for i, each in enumerate(timeline.sessions) if each.baseline == name), default=None)
    if base is None:
        return timeline
    chain = chains[timeline.sessions[base].machine]
    rows = np.array([i for i, each in enumerate(timeline.sessions) if chains[each.machine] == chain])
    y, _ = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
    place = int(np.flatnonzero(rows == base)[0])
    found = []
    for column, each in enumerate(timeline.benchmarks):
        since = max((c.at for c in timeline.changes if c.benchmark == column), default=0)
        mine = np.array([i for i, row in enumerate(rows) if row >= since and not math.isnan(y[i, column])])[-SIDE:]
        if math.isnan(y[place, column]) or not len(mine) or not math.isfinite(each.noise):
            continue
        size = float(y[mine, column].mean() - y[place, column])
        reach = NORMAL * each.noise * math.sqrt(1 + 1 / len(mine))
        found.append(Against(column, *map(math.expm1, (size, size - reach, size + reach))))
    return replace(timeline, baseline=base, against=tuple(found))
