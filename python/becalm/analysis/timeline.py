"""Sittings of benchmarks to a Timeline: put in order, joined where they are comparable, searched for changes.

`timeline` is a function of what the sittings say (`Recorded`). Sittings of one machine under one kernel and the same
settings are comparable. Two machines are joined where commits were measured on both, `BRIDGE` sittings on each side at
least: the difference of those is taken away, and its own uncertainty is part of what is said of the sittings around.
Benchmarks are told apart by name and unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from becalm.nouns.timeline import Against, Benchmark, BenchmarkChange, Machine, Point, Sitting, Timeline
from becalm.nouns.verdict import Finding
from becalm.stats.arrays import Floats, Ints
from becalm.stats.change_points import RATE, ChangePoint, change_points
from becalm.wording import history as words
from becalm.wording.findings import finding

BRIDGE = 3
"""Sittings of the same commits on each of two machines without which they are not joined."""

MOST_BRIDGE = 20
"""Of more, the first are used: what joins two machines does not change with each new sitting."""

SIDE = 10
"""Sittings after which the uncertainty of a join has no say: as many as the longest look at a step has after it."""

NORMAL = 1.959964

Key = tuple[str, str]
"""Name and unit of a benchmark."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A benchmark in one sitting: median, its interval, good and failed runs."""

    name: str
    unit: str
    higher_is_better: bool
    value: float
    low: float
    high: float
    runs: int
    failed: int

    @property
    def key(self) -> Key:
        """What it is told apart by."""
        return self.name, self.unit


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored sitting: its place in history, its machine (name, processor, kernel, settings), what was measured."""

    sitting: Sitting
    machine: tuple[str, str, str, str]
    measured: tuple[Measured, ...]
    references: tuple[str, ...] = ()


def timeline(
    project: str,
    recorded: Sequence[Recorded],
    *,
    order: Mapping[str, int] | None = None,
    renamed: Mapping[str, str] | None = None,
    rate: float = RATE,
    baseline: str = "",
    links: str = "",
) -> Timeline:
    """The history of a project.

    Arguments:
        recorded: sittings in the order in which they were measured.
        order: positions of commits as git has them, of those that it knows.
        renamed: old names of benchmarks to new ones.
        rate: false alarms per commit over all benchmarks.
        baseline: name of a sitting to compare the present with.
        links: URL of a commit, with {commit} in it.
    """
    ordered, basis = in_order([_renamed(each, renamed or {}) for each in recorded], order or {})
    names = list(dict.fromkeys(each.machine for each in ordered))
    table = _Table.of(ordered, names)
    chains, bridges = _chains(table)
    sittings = tuple(replace(each.sitting, machine=names.index(each.machine)) for each in ordered)
    changes: list[BenchmarkChange] = []
    state: dict[Key, tuple[float, int, float]] = {}
    for chain in dict.fromkeys(chains):
        rows = np.array([i for i, each in enumerate(sittings) if chains[each.machine] == chain])
        y, errors = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
        found = change_points(y, table.marks[rows], errors, rate)
        changes += [_change(each, chain, rows, table, sittings) for each in found.changes]
        for column, key in enumerate(table.keys):
            if not np.isnan(y[:, column]).all():
                visible = math.expm1(float(found.visible[column]))
                state[key] = (float(found.noise[column]), int(found.lacking[column]), visible)
    machines = tuple(
        Machine(*each, sum(s.machine == i for s in sittings), chains[i], bridges[i]) for i, each in enumerate(names)
    )
    benchmarks = tuple(_benchmark(table, key, ordered, state) for key in table.keys)
    changes.sort(key=lambda each: (each.at, each.found, each.benchmark is None, each.benchmark or 0))
    made = Timeline(project, basis, rate, sittings, machines, benchmarks, tuple(changes), links=links)
    made = replace(made, findings=(*_lost(made, order or {}), *_findings(made, table)))
    made = _against(made, table, chains, baseline) if baseline else made
    return replace(made, sentence=words.history(made))


def in_order(recorded: Sequence[Recorded], order: Mapping[str, int]) -> tuple[list[Recorded], str]:
    """Return sittings in the order of their commits, and what that rests on: no clock where it can be helped."""
    sittings = [row.sitting for row in recorded]
    if sittings and any(sitting.commit in order for sitting in sittings):
        places, basis = _among_known(sittings, order), "git"
    elif sittings and all(sitting.ordinal is not None for sitting in sittings):
        places, basis = [float(sitting.ordinal or 0) for sitting in sittings], "ordinal"
    elif sittings and all(sitting.commit_ns is not None for sitting in sittings):
        places, basis = [float(sitting.commit_ns or 0) for sitting in sittings], "commit date"
    else:
        # Sittings of one commit stay together: a later one is no later commit.
        firsts: dict[str, int] = {}
        places = [float(firsts.setdefault(sitting.commit, len(firsts))) for sitting in sittings]
        basis = "as recorded"
    ranked = sorted(range(len(recorded)), key=lambda i: (places[i], sittings[i].study))
    return [recorded[i] for i in ranked], basis


def _among_known(sittings: Sequence[Sitting], order: Mapping[str, int]) -> list[float]:
    """Return the place of each sitting, those of commits that git does not have behind one that it has.

    That is the last one with no more commits behind it; where that is not known, the one that was measured before.
    """
    known = [sitting for sitting in sittings if sitting.commit in order]
    places: dict[str, float] = {}
    for sitting in sorted(sittings, key=lambda sitting: sitting.study):
        if sitting.commit in order or sitting.commit in places:
            continue
        if sitting.ordinal is not None and all(other.ordinal is not None for other in known):
            earlier = [other for other in known if (other.ordinal or 0) <= sitting.ordinal]
        else:
            earlier = sorted((o for o in known if o.study < sitting.study), key=lambda other: other.study)[-1:]
        # Several behind one keep the order of their own numbers of commits.
        within = 1 - 1 / (2 + max(0, sitting.ordinal or 0))
        places[sitting.commit] = max((order[other.commit] for other in earlier), default=-1) + within
    return [order[sitting.commit] if sitting.commit in order else places[sitting.commit] for sitting in sittings]


@dataclass(frozen=True, slots=True)
class _Table:
    """Logarithms, shape (sittings, benchmarks), NaN for none; standard errors; numbers of commits; machines."""

    keys: tuple[Key, ...]
    y: Floats
    errors: Floats
    marks: Floats
    machine: tuple[int, ...]
    machines: int
    higher: tuple[bool, ...]

    @classmethod
    def of(cls, recorded: Sequence[Recorded], names: Sequence[tuple[str, str, str, str]]) -> _Table:
        keys = list(dict.fromkeys(each.key for row in recorded for each in row.measured))
        y, errors = np.full((len(recorded), len(keys)), math.nan), np.zeros((len(recorded), len(keys)))
        higher = [False] * len(keys)
        for i, row in enumerate(recorded):
            for each in row.measured:
                if each.runs and each.value > 0:
                    column = keys.index(each.key)
                    higher[column] = each.higher_is_better
                    y[i, column] = math.log(each.value)
                    half = (each.high - each.low) / (2 * NORMAL * each.value)
                    errors[i, column] = half if math.isfinite(half) else math.nan
        # A sitting with too few runs for an interval counts as the worst of those that have one.
        worst = np.max(np.nan_to_num(errors), axis=0, initial=0.0)
        errors = np.where(np.isnan(errors), worst, errors)
        commits = list(dict.fromkeys(row.sitting.commit for row in recorded))
        marks = np.array([commits.index(row.sitting.commit) for row in recorded], np.float64)
        machine = tuple(names.index(row.machine) for row in recorded)
        return cls(tuple(keys), y, errors, marks, machine, len(names), tuple(higher))

    def bridge(self, one: int, other: int) -> tuple[Ints, Ints]:
        """Rows of two machines at commits that both have measured."""
        mine = np.array([each == one for each in self.machine])
        yours = np.array([each == other for each in self.machine])
        shared = np.intersect1d(self.marks[mine], self.marks[yours])
        there = np.isin(self.marks, shared)
        return np.flatnonzero(mine & there)[:MOST_BRIDGE], np.flatnonzero(yours & there)[:MOST_BRIDGE]

    def joined(self, rows: Ints, chain: Sequence[int]) -> tuple[Floats, Floats]:
        """Values and errors of the rows of a chain of machines, as if all were of its first one."""
        y, errors = self.y.copy(), self.errors.copy()
        for place, machine in enumerate(chain[1:], start=1):
            own = np.array([each == machine for each in self.machine])
            before = max(chain[:place], key=lambda other: min(map(len, self.bridge(other, machine))))
            left, right = self.bridge(before, machine)
            offset, error = _offset(y[left], self.y[right])
            y[own] = self.y[own] - offset
            # In a look at steps across the join it counts once, however many sittings that look has after it.
            around = np.flatnonzero(own)[: 2 * SIDE]
            errors[around] = np.sqrt(errors[around] ** 2 + SIDE * error**2)
        return y[rows], errors[rows]


def _offset(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """By how much the second machine differs, for each benchmark, and its standard error; NaN where one has none."""
    counts = [np.isfinite(side).sum(axis=0) for side in (left, right)]
    sums = [np.nansum(side, axis=0) for side in (left, right)]
    known = (counts[0] >= BRIDGE) & (counts[1] >= BRIDGE)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [total / count for total, count in zip(sums, counts, strict=True)]
        squares = [
            np.nansum((side - mean) ** 2, axis=0) / np.maximum(count - 1, 1) / np.maximum(count, 1)
            for side, mean, count in zip((left, right), means, counts, strict=True)
        ]
    offset = np.where(known, means[1] - means[0], math.nan)
    return offset, np.where(known, np.sqrt(squares[0] + squares[1]), 0.0)


def _chains(table: _Table) -> tuple[list[int], list[int]]:
    """For each machine, in the order of their first sittings: the chain it belongs to, and sittings that join it."""
    chains: list[int] = []
    bridges: list[int] = []
    for machine in range(table.machines):
        sizes = [min(map(len, table.bridge(other, machine))) for other in range(machine)]
        best = max(range(machine), key=sizes.__getitem__, default=None)
        joined = best is not None and sizes[best] >= BRIDGE
        chains.append(chains[best] if joined and best is not None else max(chains, default=-1) + 1)
        bridges.append(sizes[best] if joined and best is not None else 0)
    return chains, bridges


def _change(found: ChangePoint, chain: int, rows: Ints, table: _Table, sittings: Sequence[Sitting]) -> BenchmarkChange:
    at, seen = int(rows[found.at]), int(rows[found.found])
    has = rows if found.series < 0 else [row for row in rows if not math.isnan(table.y[row, found.series])]
    before = max(int(row) for row in has if row < at)
    first, last = sittings[before].ordinal, sittings[at].ordinal
    turned = found.series >= 0 and table.higher[found.series]
    return BenchmarkChange(
        benchmark=None if found.series < 0 else found.series,
        chain=chain,
        last_before=before,
        at=at,
        found=seen,
        unmeasured=None if first is None or last is None else max(0, last - first - 1),
        size=math.expm1(found.size),
        low=math.expm1(found.low),
        high=math.expm1(found.high),
        worse=(found.size > 0) is not turned,
        one_in=1 / max(found.chance, 1e-15),
    )


def _benchmark(
    table: _Table, key: Key, recorded: Sequence[Recorded], state: Mapping[Key, tuple[float, int, float]]
) -> Benchmark:
    points = tuple(
        Point(i, each.value, each.low, each.high, each.runs, each.failed)
        for i, row in enumerate(recorded)
        for each in row.measured
        if each.key == key and each.runs
    )
    noise, lacking, visible = state.get(key, (math.nan, 0, math.nan))
    last = recorded[-1]
    column = table.keys.index(key)
    reference = any(key[0] in row.references for row in recorded)
    gone = key not in {each.key for each in last.measured if each.runs}
    return Benchmark(key[0], key[1], table.higher[column], reference, points, noise, lacking, visible, gone)


def _renamed(recorded: Recorded, renamed: Mapping[str, str]) -> Recorded:
    if not renamed:
        return recorded
    measured = tuple(replace(each, name=renamed.get(each.name, each.name)) for each in recorded.measured)
    return replace(recorded, measured=measured)


def _findings(made: Timeline, table: _Table) -> list[Finding]:
    found = []
    for i, machine in enumerate(made.machines):
        if i and not machine.bridges:
            first = next(each for each in made.sittings if each.machine == i)
            which = {"machine": machine.name, "kernel": machine.kernel}
            found.append(finding("other_machine", {**which, "commit": first.commit, "needed": BRIDGE}))
    units: dict[str, list[str]] = {}
    for name, unit in table.keys:
        units.setdefault(name, []).append(unit)
    found += [finding("other_unit", {"units": each}, name) for name, each in units.items() if len(each) > 1]
    found += _renames(made)
    # Results of other tools are not imported in the order in which they were measured.
    moments = sorted((each for each in made.sittings if not each.source), key=lambda each: each.study)
    back = sum(b.when_ns < a.when_ns for a, b in pairwise(moments) if a.machine == b.machine)
    if back:
        found.append(finding("clock_stepped", {"times": back, "order": made.order}))
    if changed := sum(each.changed for each in made.sittings):
        found.append(finding("uncommitted", {"sittings": changed}))
    return found


def _lost(made: Timeline, order: Mapping[str, int]) -> list[Finding]:
    """Return a finding that names the commits which the repository does not have, where it has others."""
    lost = list(dict.fromkeys(sitting.commit for sitting in made.sittings if sitting.commit not in order))
    return [finding("lost_commits", {"commits": lost})] if order and lost else []


def _renames(made: Timeline) -> list[Finding]:
    """Benchmarks that are gone, each with those that came with the next sitting: perhaps it has another name."""
    begun: dict[int, list[Benchmark]] = {}
    for each in made.benchmarks:
        if each.points and each.points[0].sitting:
            begun.setdefault(each.points[0].sitting, []).append(each)
    found = []
    for each in made.benchmarks:
        if each.gone and each.points:
            last = each.points[-1].sitting
            new = [other.name for other in begun.get(last + 1, ()) if other.unit == each.unit]
            numbers = {"commit": made.sittings[last].commit, "new": new}
            found.append(finding("gone", numbers, each.name))
    return found


def _against(made: Timeline, table: _Table, chains: Sequence[int], name: str) -> Timeline:
    """The present levels against a named sitting; benchmarks that are not joined with it have no answer."""
    base = max((i for i, each in enumerate(made.sittings) if each.baseline == name), default=None)
    if base is None:
        return made
    chain = chains[made.sittings[base].machine]
    rows = np.array([i for i, each in enumerate(made.sittings) if chains[each.machine] == chain])
    y, _ = table.joined(rows, [i for i, c in enumerate(chains) if c == chain])
    place = int(np.flatnonzero(rows == base)[0])
    found = []
    for column, each in enumerate(made.benchmarks):
        since = max((c.at for c in made.changes if c.benchmark == column), default=0)
        mine = np.array([i for i, row in enumerate(rows) if row >= since and not math.isnan(y[i, column])])[-SIDE:]
        if math.isnan(y[place, column]) or not len(mine) or not math.isfinite(each.noise):
            continue
        size = float(y[mine, column].mean() - y[place, column])
        reach = NORMAL * each.noise * math.sqrt(1 + 1 / len(mine))
        found.append(Against(column, *map(math.expm1, (size, size - reach, size + reach))))
    return replace(made, baseline=base, against=tuple(found))
