"""Tuning that survives another machine: configurations measured on several machines, and run on others.

Tuning runs of PostgreSQL and NGINX on Azure and CloudLab, of each configuration the performance on up to ten machines
(Freischuetz, Kroth & Pavlo … 2025, TUNA, EuroSys). https://github.com/uw-mad-dash/TUNA at 083ea35, sample_configs:

    DIR/tuna-runs/RUN.csv.gz        suggestion, config, worker, performance

Of each run the configurations with nine machines and more. Five machines, drawn anew forty times, are there to choose;
the others are where the choice runs. NGINX, TPC-H and mssales have times, the others rates; a configuration without a
performance failed. Regret is what the choice gives on the other machines less than the best configuration there.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.unit_choice import choose, next_units
from campaign import percent
from replay_rows.figures import Figure, Table, bootstrap, halves, plain

SOURCE = "uw-mad-dash/TUNA at 083ea35"
FULL, MACHINES, DRAWS, LOSS, FAILED = 9, 5, 40, 0.3, 1e9
TIMES = re.compile("nginx|mssales|tpch")
MEASURES = (
    "an unseen machine 30 % below the promise", "below the mean of its own", "regret of the mean", "samples",
)  # fmt: skip

Rule = Callable[[Floats], tuple[int, float, int]]
"""A function of speeds (configurations, machines), 0 where one failed, that returns the choice, its promise and the
samples used."""


def read(data: Path) -> Mapping[str, Floats]:
    """Return the speeds of each run's configurations, shape (configurations, machines); NaN where none was measured."""
    folder = data / "tuna-runs"
    if not folder.is_dir():
        raise SystemExit(f"There is no {folder}; {SOURCE} has it.")
    runs = {}
    for path in sorted(folder.glob("*.csv.gz")):
        name = path.name.removesuffix(".csv.gz")
        cells: dict[int, dict[int, list[float]]] = {}
        for row in csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())):
            of = cells.setdefault(int(row["config"]), {})
            of.setdefault(int(row["worker"]), []).append(float(row["performance"]))
        full = [machines for machines in cells.values() if len(machines) >= FULL]
        if len(full) >= 5:
            workers = sorted({worker for machines in full for worker in machines})
            mean = np.array([[np.mean(machines.get(worker, [np.nan])) for worker in workers] for machines in full])
            failed = (mean <= 0) | (mean >= FAILED)
            runs[name] = np.where(failed, 0.0, 1 / np.where(failed, 1.0, mean) if TIMES.search(name) else mean)
    return runs


def becalm(speeds: Floats) -> tuple[int, float, int]:
    """Return the choice of becalm, which asks for samples itself: all on two machines, then four on the others."""
    with np.errstate(divide="ignore"):
        logs = np.log(speeds)
    known = np.full_like(logs, np.nan)
    while cells := [cell for cell in next_units(known) if np.isnan(known[cell]) and not np.isnan(logs[cell])]:
        for cell in cells:
            known[cell] = logs[cell]
    chosen = choose(known).chosen
    if chosen is None:
        return best_mean(speeds)
    return chosen.index, float(np.exp(chosen.promise)), int((~np.isnan(known)).sum())


def best_mean(speeds: Floats) -> tuple[int, float, int]:
    """Return the best mean over all machines, which is the promise, too."""
    mean = np.nanmean(speeds, axis=1)
    return int(np.argmax(mean)), float(mean.max()), int((~np.isnan(speeds)).sum())


def best_worst(speeds: Floats) -> tuple[int, float, int]:
    """Return TUNA's choice: the best of the worst machines, which is the promise, too."""
    worst = np.nanmin(speeds, axis=1)
    return int(np.argmax(worst)), float(worst.max()), int((~np.isnan(speeds)).sum())


def replay(data: Path, quick: bool) -> list[Table]:
    """Return losses and regret of the rules."""
    runs = read(data)
    parts = halves(list(runs)[:3] if quick else runs)
    rows = [(f"becalm, {part}", _cells(runs, names, becalm)) for part, names in parts.items() if names]
    others: tuple[tuple[str, Rule], ...] = (
        ("TUNA: worst of 5", best_worst),
        ("TUNA: worst of 3", lambda speeds: best_worst(speeds[:, :3])),
        ("mean of 5", best_mean),
        ("one machine", lambda speeds: best_mean(speeds[:, :1])),
    )
    for name, rule in others:
        rows += [
            (f"{name}, {part}", _cells(runs, parts[part], rule)) for part in ("judging half", "all") if parts[part]
        ]
    many = len(parts["all"])
    return [
        Table(f"{many} tuning runs, chosen on {MACHINES} machines and run on the others", SOURCE, MEASURES, tuple(rows))
    ]


def _cells(runs: Mapping[str, Floats], names: list[str], rule: Rule) -> tuple[Figure, ...]:
    measures: list[list[float]] = []
    for name in names:
        draws = []
        for draw in range(DRAWS):
            order = np.random.default_rng([draw, *name.encode()]).permutation(runs[name].shape[1])
            seen, unseen = runs[name][:, order[:MACHINES]], runs[name][:, order[MACHINES:]]
            index, promise, samples = rule(seen)
            there = unseen[index][~np.isnan(unseen[index])]
            best = float(np.nanmax(np.nanmean(unseen, axis=1)))
            lost = [float((there < (1 - LOSS) * of).any()) for of in (promise, np.nanmean(seen[index]))]
            draws.append((*lost, 1 - there.mean() / best, samples))
        measures.append(list(np.mean(draws, axis=0)))
    columns = list(zip(*measures, strict=True))
    used = float(np.mean(columns[3]))
    return (*(bootstrap(column, percent) for column in columns[:3]), plain(used, f"{used:.0f}"))
