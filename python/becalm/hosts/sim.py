"""A simulated machine: programs with a known base time under a noise model, on a virtual clock, from a seed.

The program `spin 20ms` takes 20 ms times the noise of the moment; `spin 20.2ms` is exactly 1 % slower. The models
are the kinds of noise that real machines show; `drift` and `bursts` resemble what ../docs/statistics.md describes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from becalm.errors import UsageError, WorkloadError
from becalm.hosts import Access, TextSink
from becalm.nouns import Block, Outcome, Run, Settings, Workload
from becalm.quantity import duration_ns

GAP_NS = 300_000
"""Virtual time between two runs: starting, waiting, accounting."""

Noise = Iterator[float]


def _calm(rng: np.random.Generator) -> Noise:
    while True:
        yield 0.001 * rng.standard_normal()


def _normal(rng: np.random.Generator) -> Noise:
    while True:
        yield 0.02 * rng.standard_normal()


def _heavy(rng: np.random.Generator) -> Noise:
    while True:
        yield 0.005 * rng.standard_t(2)


def _bimodal(rng: np.random.Generator) -> Noise:
    while True:
        yield (0.06 if rng.random() < 0.3 else 0.0) + 0.005 * rng.standard_normal()


def _drift(rng: np.random.Generator) -> Noise:
    # Autocorrelation 0.93 at lag 1 and a coefficient of variation of 2 %, as measured on a shared virtual machine.
    level = 0.02 * rng.standard_normal()
    while True:
        level = 0.93 * level + 0.02 * math.sqrt(1 - 0.93**2) * rng.standard_normal()
        yield level


def _bursts(rng: np.random.Generator) -> Noise:
    level, left = 0.0, 0
    while True:
        if left == 0:
            noisy = level == 0.0 and rng.random() < 0.3
            level, left = (0.1 if noisy else 0.0), int(rng.geometric(0.05))
        left -= 1
        yield 0.004 * rng.standard_normal() + level * rng.exponential()


def _warming(rng: np.random.Generator) -> Noise:
    index = 0
    while True:
        yield 0.25 * math.exp(-index / 15) + 0.005 * rng.standard_normal()
        index += 1


MODELS: dict[str, Callable[[np.random.Generator], Noise]] = {
    "calm": _calm,
    "normal": _normal,
    "heavy": _heavy,
    "bimodal": _bimodal,
    "drift": _drift,
    "bursts": _bursts,
    "warming": _warming,
}
"""Noise of log time, one value a run. One more model is one function and one row."""


def open_sim(rest: str, access: Access) -> SimHost:
    """The host `sim:MODEL` or `sim:MODEL:SEED`."""
    model, _, seed = rest.partition(":")
    if model not in MODELS or (seed and not seed.isdigit()):
        raise UsageError(f"There is no simulated machine {rest!r}. Known: {', '.join(f'sim:{m}' for m in MODELS)}.")
    return SimHost(model, int(seed or 0))


class SimHost:
    """Programs `spin DURATION` under one noise model."""

    def __init__(self, model: str, seed: int) -> None:
        self.name = f"sim:{model}"
        self._noise = MODELS[model](np.random.default_rng(seed))
        self._base_ns: list[int] = []
        self._now_ns = 1_600_000_000_000_000_000

    def __enter__(self) -> SimHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """What the simulated machine is."""
        return {"host": {"hostname": self.name}, "abilities": []}

    def define(self, workloads: Sequence[Workload], settings: Sequence[Settings]) -> list[str]:
        """Read each program's base time; only `spin DURATION` exists here."""
        self._base_ns = []
        for workload in workloads:
            if len(workload.argv) != 2 or workload.argv[0] != "spin":
                raise WorkloadError(
                    f"The simulated machine knows only the program `spin DURATION`, not {workload.name!r}. "
                    "Try: becalm compare --host sim:drift 'spin 20ms' 'spin 20.2ms'"
                )
            self._base_ns.append(duration_ns(workload.argv[1]))
        return ["spin"] * len(workloads)

    def measure(
        self, first: int, block: Block, *, on_text: TextSink | None = None, stop_on_failure: bool = True
    ) -> Iterator[list[Run]]:
        """Rows as the agent would send them."""
        rows = [self._run(first + index, *step) for index, step in enumerate(block)]
        yield rows

    def _run(self, seq: int, workload: int, settings: int, padding: int, round: int) -> Run:
        wall_ns = round_ns(self._base_ns[workload] * math.exp(next(self._noise)))
        started_ns = self._now_ns
        self._now_ns += wall_ns + GAP_NS
        return Run(
            seq, workload, settings, round, padding, started_ns, wall_ns, wall_ns, 0, None, None, None, None, None,
            None, str(Outcome.OK), 0, 0,
        )  # fmt: skip

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """The virtual gap between runs."""
        return [0] * runs, [GAP_NS] * runs

    def stop(self) -> None:
        """Blocks take no real time here."""

    def close(self) -> None:
        """Nothing to end."""


def round_ns(value: float) -> int:
    """The nearest whole nanosecond, at least one."""
    return max(1, round(value))
