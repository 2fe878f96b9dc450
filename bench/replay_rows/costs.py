"""The cost of a history through the command, in seconds of CPU: one more session, and all of them.

A history of 10,000 simulated sessions of one benchmark, then 100 more; and CPython's 115 plain builds (the row
`cpython` names their source) as a table of commits. Both are imported into a store of their own; `becalm history` is
run for the first time, again, and with new sessions. Start-up is part of each figure. Peers take the same values from
memory.
"""

from __future__ import annotations

import csv
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from replay_rows.cpython import SOURCE, Suite, read
from replay_rows.figures import NOT_INSTALLED, Figure, Table, plain, text
from replay_rows.peers import Rule, rules

SESSIONS, MORE = 10_000, 100
DAY = 86_400
MEASURES = (
    f"one more session on {SESSIONS:,}",
    f"{SESSIONS:,} sessions, first",
    "again",
    "115 builds, first",
    "again ",
)


def history(folder: Path, project: str) -> float:
    """Return the seconds of CPU of `becalm history` with the store of a folder."""
    return _becalm(folder, "history", project)


def _becalm(folder: Path, *arguments: str) -> float:
    environment = {**os.environ, "BECALM_STORE": str(folder / "store.db"), "XDG_STATE_HOME": str(folder / "state")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "becalm", *arguments], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def imported(folder: Path, name: str, rows: Iterable[tuple[int, str, float]]) -> None:
    """Import sessions: number, benchmark, seconds."""
    table = folder / f"{name}.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["commit", "date", "branch", "benchmark", "value", "unit"])
        for number, benchmark, value in rows:
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_600_000_000 + number * DAY // 24))
            writer.writerow([f"{number + 1:040x}", date, "main", benchmark, f"{value:.9g}", "s"])
    _becalm(folder, "import", str(table), "--project", name.partition("_")[0])


def long(folder: Path, count: int, more: int) -> tuple[float, float, float]:
    """Return seconds for one more session, for all when the history is new, and for all when nothing is."""
    values = np.exp(0.01 * np.random.default_rng(1).standard_normal(count + more)).tolist()
    imported(folder, "long", ((number, "loop", values[number]) for number in range(count)))
    first = history(folder, "long")
    again = min(history(folder, "long") for _ in range(3))
    imported(folder, "long_more", ((number, "loop", values[number]) for number in range(count, count + more)))
    return (history(folder, "long") - again) / more, first, again


def suite_costs(folder: Path, suite: Suite) -> tuple[float, float]:
    """Return seconds for the history of a suite when it is new, and when nothing is."""
    rows = (
        (number, name, math.exp(float(suite.values[number, column])))
        for number in range(len(suite.builds))
        for column, name in enumerate(suite.benchmarks)
        if not math.isnan(suite.values[number, column])
    )
    imported(folder, "suite", rows)
    return history(folder, "suite"), min(history(folder, "suite") for _ in range(3))


def replay(data: Path, quick: bool) -> list[Table]:
    """Return seconds of CPU for becalm and its peers."""
    suite, count = read(data), 300 if quick else SESSIONS
    with tempfile.TemporaryDirectory() as name:
        cells = (*long(Path(name), count, MORE), *suite_costs(Path(name), suite))
    rows = [("becalm history", tuple(_seconds(value) for value in cells))]
    values = np.exp(0.01 * np.random.default_rng(1).standard_normal(count))
    # PELT takes time that grows with the square of values without a change: minutes for so many.
    for peer, rule in rules()[:2]:
        rows.append((peer, _peer(rule, values, suite)))
    return [
        Table(
            f"Seconds of CPU: {count:,} sessions of one benchmark, and CPython's {len(suite.builds)} builds of "
            f"{len(suite.benchmarks)} benchmarks",
            f"simulated; {SOURCE}",
            MEASURES,
            tuple(rows),
            "becalm's figures are of the whole command, start-up included; those of the others of the search alone. "
            f"One more session: a hundredth of what {MORE} new ones add.",
        )
    ]


def _peer(rule: Rule | None, values: Floats, suite: Suite) -> tuple[Figure, ...]:
    if rule is None:
        return tuple(text(NOT_INSTALLED) for _ in MEASURES)
    start = time.process_time()
    rule(values)
    alone = time.process_time() - start
    start = time.process_time()
    for column in range(len(suite.benchmarks)):
        rule(suite.values[~np.isnan(suite.values[:, column]), column])
    spent = time.process_time() - start
    return _seconds(alone), _seconds(alone), _seconds(alone), _seconds(spent), _seconds(spent)


def _seconds(value: float) -> Figure:
    return plain(value, f"{1000 * value:.2g} ms" if value < 0.1 else f"{value:.2f} s")
