"""Change points that people marked: the Turing Change Point Dataset.

31 univariate series in which five people each marked what they took for changes (van den Burg & Williams 2020, arXiv
2003.06222). https://github.com/alan-turing-institute/TCPD at 83b3039, with the series whose files are in it:

    DIR/tcpd/annotations.json               {"nile": {"6": [], "7": [28], ...}, ...}
    DIR/tcpd/series/nile.json.gz            a file of datasets/, compressed

Scores are those of the authors' TCPDBench: a change is right when it lies within five values of a marked one, position
0 counts as marked and found, precision is about what anybody marked, recall is a mean over the people.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.change_points import change_points
from replay_rows.figures import Figure, Table, bootstrap, halves, missing, plain
from replay_rows.peers import rules

SOURCE = "alan-turing-institute/TCPD at 83b3039"
MARGIN = 5
MEASURES = ("F1", "precision", "recall", "changes")


@dataclass(frozen=True)
class Marked:
    """A series, shape (n,), and the positions that each person marked."""

    values: Floats
    people: tuple[tuple[int, ...], ...]


def read(data: Path) -> dict[str, Marked]:
    """Return the univariate series by name. Raises SystemExit where there are none."""
    folder = data / "tcpd"
    if not folder.is_dir():
        raise SystemExit(f"There is no {folder}; {SOURCE} has it.")
    annotations = json.loads((folder / "annotations.json").read_text(encoding="utf-8"))
    series = {}
    for path in sorted((folder / "series").glob("*.json.gz")):
        document = json.loads(gzip.decompress(path.read_bytes()))
        if document["n_dim"] == 1:
            raw = [math.nan if value is None else value for value in document["series"][0]["raw"]]
            people = tuple(tuple(marks) for marks in annotations[document["name"]].values())
            series[document["name"]] = Marked(np.array(raw, np.float64), people)
    return series


def matched(marked: Sequence[int], changes: Sequence[int]) -> int:
    """Return how many marked positions have a change within the margin, each change used once."""
    free, hits = sorted(changes), 0
    for mark in sorted(marked):
        near = next((change for change in free if abs(change - mark) <= MARGIN), None)
        if near is not None:
            free.remove(near)
            hits += 1
    return hits


def scores(marked: Marked, changes: Sequence[int]) -> tuple[float, float, float]:
    """Return F1, precision and recall of the changes of one series, as TCPDBench computes them."""
    named = sorted({0, *changes})
    union = sorted({0}.union(*marked.people))
    precision = matched(union, named) / len(named)
    recall = float(np.mean([matched(sorted({0, *marks}), named) / len({0, *marks}) for marks in marked.people]))
    return 2 * precision * recall / (precision + recall), precision, recall


def becalm(values: Floats) -> list[int]:
    """Return the changes that becalm names: of the logarithms where all values are positive."""
    positive = bool((values[~np.isnan(values)] > 0).all())
    return sorted(change.at for change in change_points(np.log(values) if positive else values).changes)


def observed(rule: Callable[[Floats], list[int]], values: Floats) -> list[int]:
    """Return the changes of a rule that takes no gaps, as positions among all values."""
    there = np.flatnonzero(~np.isnan(values))
    return [int(there[place]) for place in rule(values[there])]


def replay(data: Path, quick: bool) -> list[Table]:
    """Return the scores of becalm, on each half and on all series, and of its peers on all."""
    series = read(data)
    if quick:
        series = dict(list(series.items())[:3])
    parts = halves(series)
    rows = [(f"becalm, {part}", _cells(series, names, becalm)) for part, names in parts.items() if names]
    for name, rule in rules():
        rows.append((name, missing(MEASURES) if rule is None else _cells(series, parts["all"], rule)))
    rows.append(("no change at all", _cells(series, parts["all"], lambda _: [])))
    return [Table(f"Change points in {len(series)} series marked by five people each", SOURCE, MEASURES, tuple(rows))]


def _cells(
    series: Mapping[str, Marked], names: Sequence[str], rule: Callable[[Floats], list[int]]
) -> tuple[Figure, ...]:
    changes = {name: observed(rule, series[name].values) for name in names}
    columns = zip(*(scores(series[name], changes[name]) for name in names), strict=True)
    count = sum(map(len, changes.values()))
    return (*(bootstrap(column) for column in columns), plain(count, str(count)))
