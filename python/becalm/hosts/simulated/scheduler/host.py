"""The hosts `sim:cfs` and `sim:eevdf`, with options and a seed: `sim:eevdf?cpus=4&hz=1000&jitter=0.02:7`.

Each run is a simulation whose seed depends on the host's seed and the number of the run. Without `jitter` all runs of a
program under the same settings are equal, and are simulated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from becalm.errors import UsageError, WorkloadError
from becalm.hosts.abilities import YES, Ability, Can, with_abilities
from becalm.hosts.events import Event, Noticed, Runs
from becalm.hosts.no_machine import NoMachine, refuse_kernels, refuse_metrics
from becalm.hosts.protocol import MeasureRequest
from becalm.hosts.simulated.scheduler import knobs as model_knobs
from becalm.hosts.simulated.scheduler import versions
from becalm.hosts.simulated.scheduler.engine import Engine, Progress
from becalm.hosts.simulated.scheduler.programs import endless, unmodelled, work_of
from becalm.nouns.knob import Knob
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.simulate import NOT_MODELLED

COUNTS = ("cpus", "llc_cpus", "hz", "write_ns", "read_ns", "wakeup_ns", "switch_ns", "migration_ns")
"""The options that are whole numbers. `jitter` is a share (crates/becalm-sim/src/machine.rs), `kernel` one of
`versions.TABLE`."""

MOST = 10**12
"""The largest value of an option: a cost of a quarter of an hour, ns."""

GAP_NS = 300_000
"""The virtual time between two runs, ns."""


def machine_of(name: str, query: str) -> dict[str, Any]:
    """Return the machine that the options in a host's name describe. Raises UsageError for an unknown option."""
    result: dict[str, Any] = {"cpus": 2, "hz": 250}
    for key, value in parse_qsl(query, keep_blank_values=True):
        try:
            if key == "kernel":
                result[key] = versions.of(name, value).name
            elif key == "jitter":
                result[key] = float(value)
                if not 0 <= result[key] <= 10:
                    raise UsageError(f"sim:{name}: jitter lies between 0 and 10, and 0.02 is usual; not {value}.")
            elif key in COUNTS:
                result[key] = int(value)
                if not 0 <= result[key] <= MOST:
                    raise UsageError(f"sim:{name}: {key} lies between 0 and {MOST}, not {value}.")
            else:
                known = ", ".join((*COUNTS, "jitter", "kernel"))
                raise UsageError(f"sim:{name} has no option {key!r}. It knows {known}.")
        except ValueError:
            raise UsageError(f"sim:{name}: {key} is a number, not {value!r}.") from None
    return result


def open_scheduler(name: str, query: str, seed: int) -> SchedulerHost:
    """Return the host of a policy, `cfs` or `eevdf`."""
    return SchedulerHost(name, machine_of(name, query), seed, f"sim:{name}{'?' + query if query else ''}")


class SchedulerHost(NoMachine):
    """A host that simulates programs as state machines under a scheduling policy."""

    def __init__(self, policy: str, machine: dict[str, Any], seed: int, name: str) -> None:
        super().__init__(name, "it is simulated, so there is no machine")
        unreal = Can(False, f"its scheduler is simulated; not modelled: {NOT_MODELLED}", "use `local`")
        self._abilities |= {Ability.MACHINE_SETTINGS: YES, Ability.REAL_TIME: unreal}
        self.policy, self.seed = policy, seed
        self.machine = {key: value for key, value in machine.items() if key != "kernel"}
        self.kernel = versions.of(policy, machine.get("kernel")).name
        self._knobs = model_knobs.of_model(policy, machine["cpus"], self.kernel)
        self.engine = Engine()
        self._requests: list[list[dict[str, Any]]] = []
        self._known: dict[tuple[int, int], int] = {}
        self._limits_ns: list[int | None] = []
        self._unmodelled: tuple[str, ...] = ()
        self._now_ns = 1_600_000_000_000_000_000
        self._stopped = False
        self.until = False
        """Whether simulations have a time limit, so that programs need not end by themselves."""

    def __enter__(self) -> SchedulerHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulator."""
        self.engine.close()

    def facts(self) -> dict[str, Any]:
        """Return the facts: the model, and missing abilities."""
        model = {"policy": self.policy, "kernel": self.kernel, **self.machine}
        return with_abilities({"host": {"hostname": self.name}, "model": model}, self.abilities())

    def knobs(self) -> list[Knob]:
        """Return the catalogue with the support by this model."""
        return list(self._knobs)

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Prepare a request for each program under each of the settings."""
        refuse_metrics(self.name, workloads)
        refuse_kernels(self.name, workloads)
        requests = []
        for workload in workloads:
            if workload.kernel:
                raise WorkloadError(f"{self.name} has no processor for the built-in kernels.")
            work = work_of(workload.argv, workload.directory)
            if not self.until and (task := endless(work)):
                raise UsageError(
                    f"{workload.name} never ends: {task} repeats its steps for ever. Write a number into its file, or "
                    "give a time limit: becalm simulate --until 10s"
                )
            base = {"work": work, **self.model()}
            requests.append(
                [request_of(model_knobs.put(base, setting or Settings(), self._knobs)) for setting in settings]
            )
        self._requests, self._known = requests, {}
        self._limits_ns = [workload.timeout_ns for workload in workloads]
        ignored = dict.fromkeys(option for workload in workloads for option in unmodelled(workload.argv))
        self._unmodelled = tuple(f"Not modelled on {self.name}: {option}." for option in ignored)
        return [workload.argv[0] for workload in workloads]

    def model(self) -> dict[str, Any]:
        """Return a new copy of the policy and the machine of a request."""
        first = model_knobs.usual(self.policy, self.machine["cpus"], self.kernel)
        return {"policy": {self.policy: first}, "machine": dict(self.machine)}

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Yield rows as the agent would; a stopped run is aborted."""
        self._stopped = False
        if self._unmodelled:
            yield Noticed(remarks=self._unmodelled)
        for index, step in enumerate(request.block.steps):
            if self._stopped:
                return
            wall_ns, outcome = self._run((step.workload, step.settings), request.first + index)
            run = Run(
                request.first + index, step.workload, step.settings, step.round, step.padding, self._now_ns, wall_ns,
                None, None, None, None, None, None, None, None, outcome, 0, 0,
            )  # fmt: skip
            self._now_ns += wall_ns + GAP_NS
            yield Runs([run])
            if outcome == Outcome.TIMEOUT and request.stop_on_failure:
                return

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Restore the state after runs of a study."""
        if runs:
            self._now_ns = runs[-1].started_ns + runs[-1].took_ns + GAP_NS

    def _run(self, pair: tuple[int, int], number: int) -> tuple[int, str]:
        """Simulate a run, for a pair of numbers of a program and settings; return its wall time, ns, and outcome."""
        if pair in self._known:
            return self._known[pair], str(Outcome.OK)
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        request, limit_ns = self._requests[pair[0]][pair[1]], self._limits_ns[pair[0]]
        # The time limit of the program ends the simulation.
        until = {} if limit_ns is None else {"until_ns": limit_ns}
        summary = self.engine.simulate({**request, **until, "seed": seed})
        wall_ns = max(1, summary["end_ns"])
        if not summary["finished"]:
            cut = limit_ns is not None and wall_ns >= limit_ns and not self._stopped
            return (limit_ns or wall_ns, str(Outcome.TIMEOUT)) if cut else (wall_ns, str(Outcome.ABORTED))
        if not self.machine.get("jitter"):
            self._known[pair] = wall_ns
        return wall_ns, str(Outcome.OK)

    def simulated(self, seed: int, more: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Return the full summary of the only defined program (crates/becalm-sim/src/summary.rs)."""
        return self.engine.simulate({**self._requests[0][0], "seed": self.seed + seed, **more}, progress)

    def stop(self) -> None:
        """End the current simulation and the block."""
        self._stopped = True
        self.engine.stop()

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the virtual times of an empty program, ns."""
        return [0] * runs, [GAP_NS] * runs


def request_of(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the engine's form of a request, with settings of all tasks moved into each task."""
    work, tasks = dict(parts["work"]), parts.get("tasks", {})
    if "tasks" in work and tasks:
        work["tasks"] = {**work["tasks"], "tasks": [{**task, **tasks} for task in work["tasks"]["tasks"]]}
    elif tasks:
        work["hackbench"] = {**work["hackbench"], **tasks}
    return {"workload": work, "policy": parts["policy"], "machine": parts["machine"]}
