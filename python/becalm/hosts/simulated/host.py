"""A simulated machine: programs with a known base time under a noise model, on a virtual clock, from a seed.

The program `spin 20ms` takes 20 ms times the current noise; `spin 20.2ms` is exactly 1 % slower. There are two
families: models of one kind of noise that no setting changes (`drift` and `bursts` resemble those in
docs/explanation/statistics.md), and machines with settings (`becalm.hosts.simulated.machine`), which may have a base
time for any program.
"""

from __future__ import annotations

import difflib
import math
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from becalm.errors import UsageError, WorkloadError
from becalm.hosts.abilities import YES, Ability, with_abilities
from becalm.hosts.events import Event, Runs
from becalm.hosts.no_machine import NoMachine, refuse_kernels, refuse_metrics
from becalm.hosts.protocol import Access, MeasureRequest, Parameters
from becalm.hosts.simulated import machine
from becalm.hosts.simulated.machine import Running, SimulatedMachine, State
from becalm.hosts.simulated.scheduler import POLICIES
from becalm.nouns.knob import Knob, at_boot
from becalm.nouns.run import Outcome, Run, Start
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.units import duration_ns

if TYPE_CHECKING:
    from becalm.hosts.simulated.scheduler.host import SchedulerHost

GAP_NS = 300_000
"""The virtual time between two runs, ns, for starting, waiting and accounting."""

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
"""Models of noise, by name: generators of the logarithm of a time factor, one value per run."""


def open_sim(rest: str, access: Access) -> SimHost | SchedulerHost:
    """Return the host `sim:NAME` or `sim:PATH.toml`, optionally with `:SEED`.

    `sim:cfs` and `sim:eevdf` are schedulers, with options: `sim:cfs?cpus=4&hz=1000`.
    """
    name, colon, seed = rest.rpartition(":")
    if not colon or not seed.isdigit():
        name, seed = rest, ""
    kind, _, query = name.partition("?")
    if kind in POLICIES:
        from becalm.hosts.simulated.scheduler.host import open_scheduler

        return open_scheduler(kind, query, int(seed or 0))
    if name in MODELS:
        return SimHost(SimulatedMachine(name, f"noise of the kind {name}", 0, ()), int(seed or 0), MODELS[name])
    if name.endswith(".toml") or name in machine.names():
        path = Path(name) if name.endswith(".toml") else machine.SHIPPED / f"{name}.toml"
        return SimHost(machine.read(path), int(seed or 0))
    known = (*POLICIES, *MODELS, *machine.names())
    # Without "sim:", which would make any two names alike.
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean 'sim:{near[0]}'?" if near else ""
    raise UsageError(
        f"There is no simulated machine {rest!r}.{hint} Known: {', '.join(f'sim:{machine}' for machine in known)}, and "
        "sim:FILE.toml (docs/explanation/methods.md)."
    )


class SimHost(NoMachine):
    """A host that simulates programs `spin DURATION`, and any other program on a machine with a base time."""

    def __init__(
        self, machine: SimulatedMachine, seed: int, noise: Callable[[np.random.Generator], Noise] | None = None
    ) -> None:
        super().__init__(f"sim:{machine.name}", "it is simulated, so there is no machine")
        self._abilities |= {Ability.MACHINE_SETTINGS: YES, Ability.REBOOT: YES}
        self.machine = machine
        self._running = Running(machine, seed)
        self._noise = noise(np.random.default_rng(seed)) if noise else None
        self._values = self._draw(0)
        """Random values drawn in advance, so that those of a run depend only on its number."""
        self._base_ns: npt.NDArray[np.float64] = np.empty(0)
        self._states: list[State] = []
        self._known: dict[Settings, State] = {}
        self._now_ns = 1_600_000_000_000_000_000
        self.boot_ns = machine.boot_ns
        self.boots = 0
        self._limits_ns: list[int | None] = []
        self._boots_of: list[Settings] = []
        self._booted, self._stale = Settings(), False
        self._boot_rng = np.random.default_rng([seed, 1])
        self._boot_factor = self._draw_boot_factor()

    def __enter__(self) -> SimHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """Return the facts of the simulated machine."""
        cpu = {"allowed": "0-1", "threads_per_core": 1}
        return with_abilities({"host": {"hostname": self.name}, "cpu": cpu}, self.abilities())

    def knobs(self) -> list[Knob]:
        """Return the knobs of the catalogue, with the support by this machine."""
        return self.machine.knobs()

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Determine the base time of each program, and the state of the machine under each of the settings."""
        refuse_metrics(self.name, workloads)
        refuse_kernels(self.name, workloads)
        base_ns = [self._base(workload) for workload in workloads]
        chosen = [setting or Settings() for setting in settings]
        # A search defines all earlier settings again with each new one.
        self._known |= {setting: self.machine.state(setting) for setting in chosen if setting not in self._known}
        self._states = [self._known[setting] for setting in chosen]
        self._base_ns = np.array(base_ns, dtype=float)
        self._limits_ns = [workload.timeout_ns for workload in workloads]
        self._boots_of = [at_boot(setting) for setting in chosen]
        return [workload.argv[0] for workload in workloads]

    def _base(self, workload: Workload) -> int:
        if len(workload.argv) == 2 and workload.argv[0] == "spin":
            return duration_ns(workload.argv[1])
        if self.machine.base_ns and workload.argv:
            return self.machine.base_ns
        if workload.kernel:
            raise WorkloadError(
                "A simulated machine has no processor for the built-in kernels: it runs `spin DURATION`. To "
                "survey it: becalm survey --no-kernels --host … -- spin 20ms"
            )
        raise WorkloadError(
            f"The simulated machine knows only the program `spin DURATION`, not {workload.name!r}. "
            "Try: becalm compare --host sim:drift 'spin 20ms' 'spin 20.2ms'"
        )

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Yield rows as the agent would; a failed run ends the block if that is requested.

        No load is observed, as a simulated machine runs nothing else.
        """
        first, block = request.first, request.block.steps
        self._stale = self._stale or request.block.fresh_boot
        steps = np.array(block, dtype=np.int64).reshape(len(block), 4)
        values = self._ahead(len(block))
        factors, failed = self._running.runs(self._states, steps[:, 1], values[1:])
        factors = factors * np.exp(values[0])
        lengths = (self._base_ns[steps[:, 0]] * factors).tolist()
        rows = []
        starts = request.block.starts
        end_ns = self._now_ns
        for index, (step, length, bad) in enumerate(zip(block, lengths, failed.tolist(), strict=True)):
            self._ensure(self._boots_of[step.settings])
            wall_ns = max(1, round(length * self._boot_factor))
            outcome, status = (Outcome.FAILED, 1) if bad else (Outcome.OK, 0)
            limit_ns = self._limits_ns[step.workload]
            if limit_ns is not None and wall_ns > limit_ns:
                wall_ns, outcome, status = limit_ns, Outcome.TIMEOUT, -signal.SIGKILL
            run = Run(
                first + index, step.workload, step.settings, step.round, step.padding, self._now_ns, wall_ns, wall_ns,
                0, None, None, None, None, None, None, str(outcome), status, 0, None, *_start(starts, index),
            )  # fmt: skip
            rows.append(run)
            end_ns = max(end_ns, self._now_ns + wall_ns)
            # The next program may start at the same time.
            if not (starts and starts[index].with_next and outcome is Outcome.OK):
                self._now_ns = end_ns + GAP_NS
            if outcome is not Outcome.OK and request.stop_on_failure:
                break
        self._values = self._values[:, len(rows) :]
        yield Runs(rows)

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Restore the state after runs of a study. Boots that take no time and change nothing are not counted."""
        for run in runs:
            boot = at_boot(settings[run.settings])
            self._stale = run.started_ns > self._now_ns
            self._ensure(boot)
            self._now_ns = run.started_ns + run.took_ns + GAP_NS
        self._values = self._ahead(len(runs))[:, len(runs) :]

    def _ahead(self, count: int) -> npt.NDArray[np.float64]:
        """Return the random values of the next `count` runs, shape (rows, count)."""
        missing = count - self._values.shape[1]
        if missing > 0:
            self._values = np.hstack([self._values, self._draw(missing)])
        return self._values[:, :count]

    def _draw(self, count: int) -> npt.NDArray[np.float64]:
        """Draw further random values, shape (rows, count): a row of the model's noise, then those of the machine."""
        noise = np.zeros(count) if self._noise is None else [next(self._noise) for _ in range(count)]
        return np.vstack([noise, self._running.draw(count)])

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine. Raises UsageError for parameters, as it has no kernel."""
        if parameters:
            raise UsageError(f"{self.name} has no kernel whose command line could have {' '.join(parameters)}.")
        self._stale = True
        self._ensure(Settings())

    def _ensure(self, boot: Settings) -> None:
        """Restart the machine if the boot settings differ from those of the last boot."""
        if boot == self._booted and not self._stale:
            return
        self._booted, self._stale = boot, False
        self.boots += 1
        self._now_ns += self.machine.boot_ns
        self._boot_factor = self._draw_boot_factor()

    def _draw_boot_factor(self) -> float:
        """Draw the factor of a boot on the time of all its runs."""
        return math.exp(self.machine.boot_spread * float(self._boot_rng.standard_normal()))

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the virtual times of an empty program, ns."""
        return [0] * runs, [GAP_NS] * runs


def _start(starts: Sequence[Start], index: int) -> tuple[int | None, int | None]:
    """Return the CPU of a step, and its start minus that of the program alongside, ns; None if unknown."""
    if not starts:
        return None, None
    alongside = starts[index].with_next or (index > 0 and starts[index - 1].with_next)
    return (starts[index].cpu if starts[index].cpu >= 0 else None), 0 if alongside else None
