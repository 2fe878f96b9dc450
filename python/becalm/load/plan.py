"""A plan of runs under known load: the levels and their order, so that 20 to 60 runs tell the causes apart.

`LoadFactor` is one kind of load with the range of its levels. `design` makes a Latin hypercube over them (McKay,
Beckman and Conover 1979, Technometrics 21:239) with nearly uncorrelated columns: of many random ones, that with the
smallest variance inflation. Unloaded runs are the reference; one lies at a random place in each group of
REFERENCE_EVERY, so that they show the machine's own drift. The order is random.

Public: LoadFactor, FACTORS, LoadStep, LoadPlan, design, inflations, FEWEST, MOST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.errors import UsageError
from becalm.nouns.demand import Demand
from becalm.nouns.options.load_experiment import FEWEST, MOST, PlannedLoads

Floats = npt.NDArray[np.float64]

REFERENCE_EVERY = 5
CANDIDATES = 500
"""The number of random hypercubes to choose from: for 24 runs of 4 factors the best has an inflation near 1.02."""

MEMORY_LIMIT = 128 << 20
"""The bytes to which the memory load is limited; its level is its use above this limit."""


LEAST_CPU = 0.01
"""The number of processors below which the agent makes no load (crates/becalm-core/src/stress/cpu.rs)."""


class LoadKind(msgspec.Struct, frozen=True):
    """A kind of load: the demand for a level, its unit, and its name as a cause (`background_load.CAUSES`)."""

    cause: str
    unit: str
    demand: Callable[[float, str], dict[str, Any]]


FACTORS: Mapping[str, LoadKind] = {
    "cpu": LoadKind("CPU", "processors", lambda level, directory: {"cpu": level} if level >= LEAST_CPU else {}),
    "memory": LoadKind(
        "memory",
        "bytes above the limit",
        lambda level, directory: {"memory_bytes": MEMORY_LIMIT + round(level), "limit_bytes": MEMORY_LIMIT},
    ),
    "disk": LoadKind(
        "disk",
        "bytes/s",
        lambda level, directory: {"disk_directory": directory, "disk_rate": float(round(level))},
    ),
    "network": LoadKind("network", "bytes/s", lambda level, directory: {"network_rate": float(round(level))}),
}
"""The kinds of load that a plan varies; to add one, add a row."""


class LoadFactor(msgspec.Struct, frozen=True):
    """A kind of load, from none to `high` (in the kind's unit)."""

    name: str
    high: float


class LoadStep(msgspec.Struct, frozen=True):
    """A place in the plan: its levels by factor, empty for an unloaded run."""

    levels: Mapping[str, float]
    demand: Demand

    @property
    def reference(self) -> bool:
        """Whether nothing else runs meanwhile."""
        return not self.levels


class LoadPlan(msgspec.Struct, frozen=True):
    """Steps in their order; `inflation`: the variance inflation of each factor over the loaded steps."""

    factors: tuple[LoadFactor, ...]
    steps: tuple[LoadStep, ...]
    inflation: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest variance inflation; 1 is orthogonal."""
        return max(self.inflation.values())

    @property
    def planned(self) -> PlannedLoads:
        """The form in which the options of a study store the plan."""
        highest = {factor.name: factor.high for factor in self.factors}
        return PlannedLoads(highest, self.inflation, tuple(step.levels for step in self.steps))


def check_runs(runs: int) -> None:
    """Raise UsageError for a number of runs that no plan can have, before a machine is used."""
    if not FEWEST <= runs <= MOST:
        raise UsageError(
            f"A designed campaign has {FEWEST} to {MOST} runs, not {runs}: fewer cannot tell loads apart, more are "
            "better spent on another program or machine."
        )


def design(factors: Sequence[LoadFactor], runs: int, rng: np.random.Generator, directory: str = "/var/tmp") -> LoadPlan:
    """Return a plan of `runs` runs. `directory`: a place on the disk to load. Raises UsageError."""
    check_runs(runs)
    if not factors:
        raise UsageError("A designed campaign needs at least one kind of load: cpu, memory, disk or network.")
    references = -(-runs // REFERENCE_EVERY)
    loaded = runs - references
    levels = _hypercube(loaded, len(factors), rng)
    steps = [
        _step(dict(zip((factor.name for factor in factors), row, strict=True)), factors, directory) for row in levels
    ]
    ordered = _interleave([steps[index] for index in rng.permutation(loaded)], references, rng)
    inflation_by_factor = dict(
        zip((factor.name for factor in factors), (float(inflation) for inflation in inflations(levels)), strict=True)
    )
    return LoadPlan(tuple(factors), tuple(ordered), inflation_by_factor)


def inflations(levels: Floats) -> Floats:
    """Return the variance inflation factor of each column, shape (runs, factors) to (factors,).

    The diagonal of the inverse of the correlation matrix (Marquardt 1970, Technometrics 12:591); infinite where a
    column is a combination of the others.
    """
    if levels.shape[1] == 1:
        return np.ones(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.corrcoef(levels, rowvar=False)
    if not np.isfinite(correlation).all() or np.linalg.cond(correlation) > 1e12:
        return np.full(levels.shape[1], np.inf)
    result: Floats = np.diag(np.linalg.inv(correlation))
    return result


def _hypercube(runs: int, factors: int, rng: np.random.Generator) -> Floats:
    """Return levels from 0 to 1, shape (runs, factors): each column has one level in each of `runs` equal intervals."""
    candidates = np.argsort(rng.random((CANDIDATES, runs, factors)), axis=1)
    levels = (candidates + rng.random(candidates.shape)) / runs
    best = min(range(CANDIDATES), key=lambda index: float(inflations(levels[index]).max()))
    chosen: Floats = levels[best]
    return chosen


def _step(shares: Mapping[str, float], factors: Sequence[LoadFactor], directory: str) -> LoadStep:
    levels = {factor.name: shares[factor.name] * factor.high for factor in factors}
    fields: dict[str, Any] = {}
    for name, level in levels.items():
        fields |= FACTORS[name].demand(level, directory)
    return LoadStep(levels, Demand(**fields))


def _interleave(loaded: Sequence[LoadStep], references: int, rng: np.random.Generator) -> list[LoadStep]:
    """Return all loaded steps in their order, with an unloaded one at a random place in each group."""
    ordered: list[LoadStep] = []
    for part in np.array_split(np.arange(len(loaded)), references):
        group = [loaded[index] for index in part]
        group.insert(int(rng.integers(len(group) + 1)), LoadStep({}, Demand()))
        ordered += group
    return ordered
