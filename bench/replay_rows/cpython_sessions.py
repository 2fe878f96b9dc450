"""The history of CPython's benchmarks, as its maintainers record it on one machine.

A session for each build, 2021-10 to 2024-07: medians of all benchmarks, and all values of some. The row "stored"
describes the files.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats

SOURCE = "faster-cpython/benchmarking-public, fork yuqiw4 at bad3144"

_MAIN = re.compile(r"-\d\.\d+\.0a\d+\+?-[0-9a-f]+$")
"""Builds of the main branch, which alone has alpha releases; others interleave branches, and flags change the build."""


@dataclass(frozen=True)
class Sessions:
    """Logarithms of medians, shape (benchmarks, builds), NaN where there is none; builds of the main branch by date."""

    names: tuple[str, ...]
    builds: tuple[str, ...]
    medians: Floats

    def rows(self, names: list[str]) -> Floats:
        """Return the medians of these benchmarks."""
        return self.medians[[self.names.index(name) for name in names]]


def folder(data: Path) -> Path:
    """Return the folder of the set. Raises SystemExit where there is none."""
    path = data / "cpython-history"
    if not path.is_dir():
        raise SystemExit(f"There is no {path}; {SOURCE} has it.")
    return path


def sessions(data: Path) -> Sessions:
    """Return the medians of all benchmarks in builds of the main branch."""
    text = gzip.decompress((folder(data) / "summary.csv.gz").read_bytes()).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if _MAIN.search(row["flags_dir"])]
    builds = [build for _, build in sorted({(row["date"], row["flags_dir"]) for row in rows})]
    names = sorted({row["benchmark"] for row in rows})
    medians = np.full((len(names), len(builds)), np.nan)
    for row in rows:
        medians[names.index(row["benchmark"]), builds.index(row["flags_dir"])] = np.log(float(row["median"]))
    return Sessions(tuple(names), tuple(builds), medians)


def values(data: Path) -> Mapping[str, list[Floats]]:
    """Return the values of benchmarks in each build of the main branch by date, where all values are kept."""
    result = {}
    for path in sorted((folder(data) / "values").glob("*.json.gz")):
        builds = json.loads(gzip.decompress(path.read_bytes()))
        main = [build for build in builds if _MAIN.search(build["result"])]
        main.sort(key=lambda build: str(build["date"]))
        name = path.name.removesuffix(".json.gz")
        result[name] = [np.concatenate([np.array(run, np.float64) for run in build["runs"]]) for build in main]
    return result
