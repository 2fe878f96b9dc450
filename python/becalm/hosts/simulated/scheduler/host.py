"""The hosts `sim:cfs` and `sim:eevdf`: `sim:eevdf?cpus=4&hz=1000&jitter=0.02:7`, seeds as for all simulated machines.

Each run is a simulation with a seed of its own, from the host's seed and the run's number; without `jitter` all runs of
the same program under the same settings are equal, and are simulated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from becalm.errors import UsageError, WorkloadError
from becalm.hosts.abilities import YES, Ability, Can, with_abilities
from becalm.hosts.absent import NoMachine, refuse_kernels, refuse_metrics
from becalm.hosts.events import Event, Noticed, Runs
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
"""The whole numbers that may follow the question mark; `jitter` is a share (crates/becalm-sim/src/machine.rs), and
`kernel` is one of `versions.TABLE`."""

MOST = 10**12
"""The largest of them that can mean something: a cost of a quarter of an hour."""

GAP_NS = 300_000
"""Virtual time between two runs."""


def machine_of(name: str, query: str) -> dict[str, Any]:
    """Return the machine of a host's name. Raises UsageError for an unknown option."""
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
                    raise UsageError(f"sim:{name}: {key} lies between 0 and {MOST}, not at {value}.")
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
    """Programs as state machines under a scheduling policy."""

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
        """Whether what is simulated is cut off, so that it need not end by itself."""

    def __enter__(self) -> SchedulerHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulator."""
        self.engine.close()

    def facts(self) -> dict[str, Any]:
        """Return what is simulated, and what is not."""
        model = {"policy": self.policy, "kernel": self.kernel, **self.machine}
        return with_abilities({"host": {"hostname": self.name}, "model": model}, self.abilities())

    def knobs(self) -> list[Knob]:
        """Return the catalogue with the knobs of this model."""
        return list(self._knobs)

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Make a request of each program under each of the settings."""
        refuse_metrics(self.name, workloads)
        refuse_kernels(self.name, workloads)
        requests = []
        for workload in workloads:
            if workload.kernel:
                raise WorkloadError(f"{self.name} has no processor for the built-in kernels.")
            work = work_of(workload.argv, workload.directory)
            if not self.until and (task := endless(work)):
                raise UsageError(
                    f"{workload.name} never ends: {task} repeats its steps for ever. Write how often in its file, or "
                    "say where it is cut off: becalm simulate --until 10s"
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
        """Return the policy and the machine of a request: a fresh copy."""
        first = model_knobs.usual(self.policy, self.machine["cpus"], self.kernel)
        return {"policy": {self.policy: first}, "machine": dict(self.machine)}

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Yield rows as the agent would send them; a run that is stopped in its middle is aborted."""
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
        """Take the state in which these runs of a study ended."""
        if runs:
            self._now_ns = runs[-1].started_ns + runs[-1].took_ns + GAP_NS

    def _run(self, which: tuple[int, int], number: int) -> tuple[int, str]:
        """Run a program under some settings, by their numbers; return its wall time, ns, and outcome."""
        if which in self._known:
            return self._known[which], str(Outcome.OK)
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        request, limit_ns = self._requests[which[0]][which[1]], self._limits_ns[which[0]]
        # No longer than its time limit: that is what ends it early.
        until = {} if limit_ns is None else {"until_ns": limit_ns}
        summary = self.engine.simulate({**request, **until, "seed": seed})
        wall_ns = max(1, summary["end_ns"])
        if not summary["finished"]:
            cut = limit_ns is not None and wall_ns >= limit_ns and not self._stopped
            return (limit_ns or wall_ns, str(Outcome.TIMEOUT)) if cut else (wall_ns, str(Outcome.ABORTED))
        if not self.machine.get("jitter"):
            self._known[which] = wall_ns
        return wall_ns, str(Outcome.OK)

    def simulated(self, seed: int, more: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Return the whole summary of the only defined program (crates/becalm-sim/src/summary.rs)."""
        return self.engine.simulate({**self._requests[0][0], "seed": self.seed + seed, **more}, progress)

    def stop(self) -> None:
        """End the run that is being simulated, and the block."""
        self._stopped = True
        self.engine.stop()

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the virtual gap between runs."""
        return [0] * runs, [GAP_NS] * runs


def request_of(made: dict[str, Any]) -> dict[str, Any]:
    """Return the engine's form of a request: settings of all tasks go into the tasks."""
    work, tasks = dict(made["work"]), made.get("tasks", {})
    if "tasks" in work and tasks:
        work["tasks"] = {**work["tasks"], "tasks": [{**task, **tasks} for task in work["tasks"]["tasks"]]}
    elif tasks:
        work["hackbench"] = {**work["hackbench"], **tasks}
    return {"workload": work, "policy": made["policy"], "machine": made["machine"]}
