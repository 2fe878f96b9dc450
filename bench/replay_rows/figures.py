"""Figures with intervals, and the tables that a row of the replay returns."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv
from scipy.stats import beta

NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class Figure:
    """A number with its 95 % interval, NaN where it has none, and the text that a table shows."""

    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Table:
    """The result for a claim: a column for each measure, a row for each rule.

    `rules` are pairs of a name and its cells, one for each of `measures`. `source` names the public data; `text` is a
    paragraph below the table.
    """

    title: str
    source: str
    measures: tuple[str, ...]
    rules: tuple[tuple[str, tuple[Figure, ...]], ...]
    text: str = ""

    def json(self) -> dict[str, Any]:
        """Return it as plain lists and dictionaries."""
        return asdict(self)


def share(hits: int, total: int) -> Figure:
    """Return hits of total as a share with its exact interval (Clopper & Pearson 1934, Biometrika 26:404)."""
    if not total:
        return text("none of 0")
    low = float(beta.ppf(0.025, hits, total - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, total - hits)) if hits < total else 1.0
    shown = f"{hits} of {total}: {100 * hits / total:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
    return Figure(hits / total, low, high, shown)


def events(count: int, exposure: float, unit: str = "") -> Figure:
    """Return a rate of rare events with its exact interval (Garwood 1936, Biometrika 28:437)."""
    low = float(gammaincinv(count, 0.025)) / exposure if count else 0.0
    high = float(gammaincinv(count + 1, 0.975)) / exposure
    return Figure(count / exposure, low, high, f"{count / exposure:.2f}{unit} [{low:.2f}, {high:.2f}]")


def bootstrap(
    values: Sequence[float], form: Callable[[float], str] = "{:.3f}".format, draws: int = 4000, seed: int = 1
) -> Figure:
    """Return the mean of values, one a series, with the percentile interval of a bootstrap over the series."""
    data = np.asarray(values, np.float64)
    picks = np.random.default_rng(seed).integers(0, len(data), (draws, len(data)))
    low, high = np.quantile(data[picks].mean(axis=1), [0.025, 0.975])
    mean = float(data.mean())
    return Figure(mean, float(low), float(high), f"{form(mean)} [{form(low)}, {form(high)}]")


def plain(value: float, shown: str) -> Figure:
    """Return a number that has no interval."""
    return Figure(value, math.nan, math.nan, shown)


def text(shown: str) -> Figure:
    """Return a cell of words."""
    return plain(math.nan, shown)


def missing(measures: Sequence[str]) -> tuple[Figure, ...]:
    """Return the cells of a peer that is not installed."""
    return tuple(text(NOT_INSTALLED) for _ in measures)


def chosen(name: str) -> bool:
    """Return whether a series belongs to the half on which becalm's rules were chosen; the other half judges them.

    The name alone decides, so that a set with more series keeps the halves of a smaller one.
    """
    return zlib.crc32(name.encode()) % 2 == 0


def halves(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return names by the half of the data that they belong to, and all of them."""
    listed = sorted(names)
    return {
        "choosing half": [name for name in listed if chosen(name)],
        "judging half": [name for name in listed if not chosen(name)],
        "all": listed,
    }


def markdown(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables of one row, as `Table.json` has them, as Markdown."""
    parts = []
    for table in tables:
        lines = [f"**{table['title']}** ({table['source']})", ""]
        lines += ["| rule | " + " | ".join(table["measures"]) + " |", "| --- |" + " --- |" * len(table["measures"])]
        for name, cells in table["rules"]:
            lines.append(f"| {name} | " + " | ".join(cell["text"] for cell in cells) + " |")
        parts.append("\n".join(lines) + (f"\n\n{table['text']}" if table["text"] else ""))
    return "\n\n".join(parts)
