"""Lasting shifts in the history of CPython: 115 builds, one machine, October 2021 to July 2024.

Medians of pyperf's results. https://github.com/yuqiw4/benchmarking-public at bad3144, a fork of
faster-cpython/benchmarking-public; results/*linux-x86_64-python-*.json, reduced to one line for each build and
benchmark:

    DIR/cpython-history/summary.csv.gz      date,commit,flags_dir,benchmark,n,median,mean,sd,min

Plain builds only (no JIT, NOGIL or tier 2), in the order of their dates: all of them, branches mixed as they were
measured, and those of the main branch alone, which are the alpha versions.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu

from becalm.stats.arrays import Floats
from becalm.stats.change_points import change_points
from replay_rows.figures import Figure, Table, events, halves, missing, plain, share
from replay_rows.peers import Rule, otava, rules

SOURCE = "yuqiw4/benchmarking-public at bad3144"
SIDE, LARGE, NEAR = 10, math.log(1.08), 5
MAIN = re.compile(r"-3\.\d+\.0a\d+\+?-")
MEASURES = ("lasting shifts found", "changes named")


@dataclass(frozen=True)
class Suite:
    """Logarithms of medians, shape (builds, benchmarks), NaN where there is none, and names of both."""

    builds: tuple[str, ...]
    benchmarks: tuple[str, ...]
    values: Floats


def read(data: Path) -> Suite:
    """Return the plain builds. Raises SystemExit where there are none."""
    path = data / "cpython-history" / "summary.csv.gz"
    if not path.exists():
        raise SystemExit(f"There is no {path}; {SOURCE} has it.")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["flags_dir"].count("-") == 3]
    builds = sorted({row["flags_dir"] for row in rows})
    benchmarks = sorted({row["benchmark"] for row in rows})
    values = np.full((len(builds), len(benchmarks)), math.nan)
    places = {name: i for i, name in enumerate(builds)}, {name: i for i, name in enumerate(benchmarks)}
    for row in rows:
        values[places[0][row["flags_dir"]], places[1][row["benchmark"]]] = math.log(float(row["median"]))
    return Suite(tuple(builds), tuple(benchmarks), values)


def main_branch(suite: Suite) -> Suite:
    """Return the builds of alpha versions, which are the main branch."""
    rows = [i for i, build in enumerate(suite.builds) if MAIN.search(build)]
    return Suite(tuple(suite.builds[i] for i in rows), suite.benchmarks, suite.values[rows])


def lasting(values: Floats) -> list[tuple[int, float]]:
    """Return positions and sizes of shifts that last: a yardstick that looks ten values ahead.

    The medians of ten values on both sides differ by more than 8 %, the middle 60 % of both do not overlap, and Mann
    and Whitney's test has p < 0.001. Of several places within ten values the largest shift counts.
    """
    places = []
    for at in range(SIDE, len(values) - SIDE + 1):
        left, right = values[at - SIDE : at], values[at : at + SIDE]
        size = float(np.median(right) - np.median(left))
        low, high = (left, right) if size > 0 else (right, left)
        apart = np.quantile(low, 0.8) < np.quantile(high, 0.2)
        if abs(size) > LARGE and apart and mannwhitneyu(left, right).pvalue < 0.001:
            rest = np.abs(left - np.median(left)).sum() + np.abs(right - np.median(right)).sum()
            places.append((at, size, float(rest)))
    shifts: list[tuple[int, float]] = []
    for at, size, _ in sorted(places, key=lambda place: place[2]):
        if all(abs(at - other) >= SIDE for other, _ in shifts):
            shifts.append((at, size))
    return shifts


def named(suite: Suite) -> dict[str, list[tuple[int, float]]]:
    """Return the changes that becalm names in each benchmark, as positions among its own values, and their sizes.

    A change of what all benchmarks have in common counts for each of them.
    """
    result = change_points(suite.values)
    changes = {}
    for column, name in enumerate(suite.benchmarks):
        there = np.flatnonzero(~np.isnan(suite.values[:, column]))
        changes[name] = [
            (int(np.searchsorted(there, change.at)), change.size)
            for change in result.changes
            if change.series in (column, -1)
        ]
    return changes


def peer_named(suite: Suite, rule: Rule) -> dict[str, list[tuple[int, float]]]:
    """Return the changes that a peer names in each benchmark, as `named` does."""
    changes = {}
    for column, name in enumerate(suite.benchmarks):
        values = suite.values[~np.isnan(suite.values[:, column]), column]
        ends = [0, *rule(values), len(values)]
        changes[name] = [
            (at, float(np.median(values[at:end]) - np.median(values[begin:at])))
            for begin, at, end in zip(ends[:-2], ends[1:-1], ends[2:], strict=True)
        ]
    return changes


def found(suite: Suite, changes: Mapping[str, Sequence[tuple[int, float]]], names: Sequence[str]) -> tuple[int, int]:
    """Return how many lasting shifts have a change of the same direction within five builds, and how many there are."""
    hits = total = 0
    for name in names:
        values = suite.values[:, suite.benchmarks.index(name)]
        for at, size in lasting(values[~np.isnan(values)]):
            total += 1
            hits += any(abs(at - place) <= NEAR and size * other > 0 for place, other in changes[name])
    return hits, total


def levelled(suite: Suite, rule: Rule) -> Suite:
    """Return the residuals of all benchmarks from the median of each level that a rule sees, NaN where it was."""
    values = suite.values.copy()
    for column in range(values.shape[1]):
        there = np.flatnonzero(~np.isnan(values[:, column]))
        own = values[there, column]
        ends = [0, *rule(own), len(own)]
        for begin, end in pairwise(ends):
            values[there[begin:end], column] -= np.median(own[begin:end])
    return Suite(suite.builds, suite.benchmarks, values)


def shuffled(suite: Suite, seed: int) -> Suite:
    """Return the builds in random order: whatever is named in it is false."""
    order = np.random.default_rng(seed).permutation(len(suite.builds))
    return Suite(suite.builds, suite.benchmarks, suite.values[order])


def replay(data: Path, quick: bool) -> list[Table]:
    """Return the shares of lasting shifts that becalm, on each half and on all, and its peers find."""
    suite = read(data)
    if quick:
        suite = Suite(suite.builds, suite.benchmarks[:10], suite.values[:, :10])
    main = main_branch(suite)
    return [
        _table(suite, f"all {len(suite.builds)} builds"),
        _table(main, f"{len(main.builds)} builds of the main branch"),
        _false_alarms(suite, main, 2 if quick else 30),
    ]


def _false_alarms(suite: Suite, main: Suite, orders: int) -> Table:
    """Return how many changes are named where builds are in random order and levels were taken away."""
    level = otava(0.01)
    measures = ("all builds", "main branch")
    if level is None:
        rows = [("becalm", missing(measures))]
    else:
        parts = [levelled(part, level) for part in (suite, main)]
        rows = [("becalm", tuple(_alarms(part, named, orders) for part in parts))]
        for name, rule in rules():
            cells = missing(measures)
            if rule is not None:
                cells = tuple(_alarms(part, partial(peer_named, rule=rule), max(1, orders // 15)) for part in parts)
            rows.append((name, cells))
    return Table(
        "False alarms in 1,000 commits of 100 benchmarks: CPython's noise, levels taken away, builds in random order",
        SOURCE,
        measures,
        tuple(rows),
        f"Levels are those that Otava sees with p < 0.01. Orders: {orders}, for the others {max(1, orders // 15)}.",
    )


def _alarms(suite: Suite, rule: Callable[[Suite], dict[str, list[tuple[int, float]]]], orders: int) -> Figure:
    count = 0
    for seed in range(orders):
        changes = rule(shuffled(suite, seed))
        count += len({(name, at) for name, places in changes.items() for at, _ in places})
    return events(count, orders * len(suite.builds) * len(suite.benchmarks) / 100 / 1000)


def _table(suite: Suite, what: str) -> Table:
    parts, changes = halves(suite.benchmarks), named(suite)
    rows = [(f"becalm, {part}", _cells(suite, changes, names)) for part, names in parts.items()]
    for name, rule in rules():
        cells = missing(MEASURES) if rule is None else _cells(suite, peer_named(suite, rule), parts["all"])
        rows.append((name, cells))
    title = f"Lasting shifts above 8 % in CPython: {len(suite.benchmarks)} benchmarks, {what}"
    return Table(title, SOURCE, MEASURES, tuple(rows))


def _cells(
    suite: Suite, changes: Mapping[str, Sequence[tuple[int, float]]], names: Sequence[str]
) -> tuple[Figure, ...]:
    count = sum(len(changes[name]) for name in names)
    return share(*found(suite, changes, names)), plain(count, str(count))
