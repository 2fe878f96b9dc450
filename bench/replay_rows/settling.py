"""Forks of Java benchmarks that never settle: is it reported that their level still changes?

Microbenchmarks of 30 projects, 10 forks of 3,000 iterations each, with the class of every fork (Traini, Cortellessa, Di
Pompeo & Tucci 2022, Empir. Softw. Eng. 28:13). https://github.com/SEALABQualityGroup/steady-state at 4220a5d:

    DIR/jmh-steady-state/series/NAME.json.gz           [[…3000 numbers…], …ten of them…]
    DIR/jmh-steady-state/classification.json.gz        {"NAME.json": {"forks": ["steady state", …], …}, …}

Rules were chosen on every other file in the order of their names. Peers see means of thirty iterations, and report a
change in the last sixth.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.levels import levels
from becalm.stats.time_series import drift, warmup
from replay_rows.figures import Figure, Table, missing, share
from replay_rows.peers import rules

SOURCE = "SEALABQualityGroup/steady-state at 4220a5d"
UNSETTLED, BLOCK, LATE = "no steady state", 30, 6
MEASURES = ("reported of forks that never settle", "of steady forks")


@dataclass(frozen=True)
class Fork:
    """A fork: its times, shape (iterations,), and whether it never settles."""

    times: Floats
    unsettled: bool


def read(data: Path) -> dict[str, list[Fork]]:
    """Return the forks of each benchmark. Raises SystemExit where there are none."""
    folder = data / "jmh-steady-state"
    if not folder.is_dir():
        raise SystemExit(f"There is no {folder}; {SOURCE} has it.")
    classes = json.loads(gzip.decompress((folder / "classification.json.gz").read_bytes()))
    return {
        path.name: [
            Fork(np.array(times, np.float64), kind == UNSETTLED)
            for times, kind in zip(
                json.loads(gzip.decompress(path.read_bytes())),
                classes[path.name.removesuffix(".gz")]["forks"],
                strict=True,
            )
        ]
        for path in sorted((folder / "series").glob("*.json.gz"))
    }


def level_changes(times: Floats) -> bool:
    """Return whether becalm has its finding `levels`."""
    return levels(times).detected


def drifts(times: Floats) -> bool:
    """Return whether becalm has its finding `drift` in what is left after the warm-up."""
    return drift(times[warmup(times).drop :]).detected


def late_change(rule: Callable[[Floats], list[int]]) -> Callable[[Floats], bool]:
    """Return whether a rule for change points names one in the last sixth of means of BLOCK runs."""

    def reported(times: Floats) -> bool:
        means = times[: len(times) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
        return any(place >= len(means) * (LATE - 1) / LATE for place in rule(means))

    return reported


def replay(data: Path, quick: bool) -> list[Table]:
    """Return how often becalm and rules for change points report an unsettled level, by the class of the forks."""
    benchmarks = read(data)
    names = list(benchmarks)[:2] if quick else list(benchmarks)
    parts = {"choosing half": names[::2], "judging half": names[1::2], "all": names}
    forks = {part: [fork for name in chosen for fork in benchmarks[name]] for part, chosen in parts.items()}
    rows = [(f"becalm, {part}", _cells(chosen, level_changes)) for part, chosen in forks.items()]
    rows.append(("becalm's drift", _cells(forks["all"], drifts)))
    for name, rule in rules():
        rows.append((name, missing(MEASURES) if rule is None else _cells(forks["all"], late_change(rule))))
    return [Table(f"Forks of {len(names)} Java benchmarks", SOURCE, MEASURES, tuple(rows))]


def _cells(forks: list[Fork], reported: Callable[[Floats], bool]) -> tuple[Figure, ...]:
    results = [reported(fork.times) for fork in forks]
    counts = [
        [hit for hit, fork in zip(results, forks, strict=True) if fork.unsettled is kind] for kind in (True, False)
    ]
    return tuple(share(sum(hits), len(hits)) for hits in counts)
