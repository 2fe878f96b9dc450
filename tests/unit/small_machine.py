"""A simulated machine for whole studies: a run depends on nothing but its number, program and settings."""

import os
import signal
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from msgspec import structs

from becalm.errors import RefusedError, UnsettledError
from becalm.hosts import Ability, Can, Noticed, Runs, RunText
from becalm.hosts.abilities import YES
from becalm.hosts.agent_abilities import AT_BOOT
from becalm.hosts.simulated.host import SimHost
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

MODEL = """
what = "a small machine"
[time]
base = "20ms"
factors = { turbo = 1.1 }
[[noise]]
name = "memory layout"
kind = "normal"
size = 0.02
factors = { aslr = 0.05 }
[[noise]]
name = "frequency"
kind = "normal"
size = 0.02
factors = { governor = 0.05, turbo = 0.9 }
[[noise]]
name = "the program itself"
kind = "normal"
size = 0.002
"""
FAST = """
what = "a machine whose scheduler can be set"
[time]
base = "20ms"
[[time.ranges]]
knob = "sched_min_granularity_ns"
default = 1500000
best = 60000000
costs = 0.4
[[time.ranges]]
knob = "sched_latency_ns"
default = 12000000
best = 150000000
costs = 0.3
[[noise]]
name = "the program itself"
kind = "normal"
size = 0.01
"""
RANGES = ("sched_min_granularity_ns", "sched_latency_ns=1..1000ms:log")
KNOBS = ("aslr", "governor", "turbo", "swap")
BEGAN_NS = 1_600_000_000_000_000_000
PERIOD_NS = 40_000_000
"""The period of one run with all that belongs to it: a run's start depends on its number only."""


@dataclass
class Trouble:
    """The faults of a host. `refuses`: settings it refuses when they are applied, `refuses_early`: when they are
    defined; `later`: once the study has begun, either way. `stops_at`: the run at which Ctrl-C is pressed. `drift`:
    what somebody else changes meanwhile; `pairs`: settings that do not go together; `unsettled`: what cannot be put
    back."""

    refuses: dict = field(default_factory=dict)
    refuses_early: dict = field(default_factory=dict)
    later: dict = field(default_factory=dict)
    early: bool = False
    pairs: tuple = ()
    stops_at: int | None = None
    fails: tuple = ()
    drift: tuple = ()
    unsettled: str = ""
    privileged: bool = True


@cache
def chance(seed, seq, count):
    """Return the noises of a run; making a generator for each takes longer than all else of it."""
    return np.random.default_rng([seed, seq]).standard_normal(count)


class Repeatable(SimHost):
    """A simulated machine on which a run depends on nothing but its number, program and settings."""

    def __init__(self, model, trouble, seed=1):
        super().__init__(model, seed)
        self.trouble, self.seed = trouble, seed
        rights = YES if trouble.privileged else Can(False, "they need root")
        self._abilities |= {Ability.MACHINE_SETTINGS: rights, Ability.REBOOT: AT_BOOT}
        self.defined = []

    def _base(self, workload: Workload) -> int:
        return 10_000_000 if workload.kernel else super()._base(workload)

    def define(self, workloads, settings, *, dangerous=False):
        refused = self.trouble.refuses_early | (self.trouble.later if len(workloads) > 1 and self.trouble.early else {})
        for setting in settings:
            for name, value in setting.values if setting else ():
                if refused.get(name) == value:
                    raise RefusedError(f"{name} cannot be {value} here.")
        for setting in settings:
            for first, other in self.trouble.pairs:
                if setting and {first, other} <= set(dict(setting.values)):
                    raise RefusedError(f"{first} and {other} cannot be set together.")
        self.defined, self.programs = list(settings), list(workloads)
        self._known |= {
            setting: self.machine.state(setting or Settings()) for setting in settings if setting not in self._known
        }
        self._states = [self._known[setting] for setting in settings]
        self._base_ns = np.array([float(self._base(workload)) for workload in workloads])
        return [workload.name for workload in workloads]

    def measure(self, request):
        rows, refused = [], self.trouble.refuses | (self.trouble.later if len(self.programs) > 1 else {})
        for index, step in enumerate(request.block.steps):
            seq, settings = request.first + index, dict(self.defined[step.settings].values)
            # A single program: how long it takes is looked at before the study begins.
            if seq == self.trouble.stops_at and len(self.programs) > 1:
                self.trouble.stops_at = None
                os.kill(os.getpid(), signal.SIGINT)
                break
            for name, value in refused.items():
                if settings.get(name) == value:
                    yield Runs(rows)
                    raise RefusedError(f"{name} does not take {value}.")
            rows.append(self._one(seq, step))
            limit_ns = self.programs[step.workload].timeout_ns
            if limit_ns is not None and rows[-1].wall_ns > limit_ns:
                rows[-1] = rows[-1]._replace(outcome="timeout", status=-9, wall_ns=limit_ns)
                if request.stop_on_failure:
                    break
            if self._bad(step, settings):
                rows[-1] = rows[-1]._replace(outcome="failed", status=1)
                yield RunText(seq, "it went wrong", "")
                if request.stop_on_failure:
                    break
        yield Runs(rows)
        yield Noticed(drift=self.trouble.drift)

    def settle(self):
        if self.trouble.unsettled:
            raise UnsettledError(self.trouble.unsettled)

    def _bad(self, step, settings):
        return self.programs[step.workload].name in self.trouble.fails or any(
            f"{name}={value}" in self.trouble.fails for name, value in settings.items()
        )

    def _one(self, seq, step):
        state = self._states[step.settings]
        noise = float((state.sizes * chance(self.seed, seq, len(state.sizes))).sum())
        wall = max(1, round(self._base_ns[step.workload] * state.time * (1 + noise)))
        return Run(
            seq, step.workload, step.settings, step.round, step.padding, BEGAN_NS + PERIOD_NS * seq, wall, wall, 0,
            None, None, None, None, None, None, "ok", 0, 0,
        )  # fmt: skip


def same(verdict, **ignored):
    """Return a verdict as JSON without what may differ between two studies that are the same: the number, and the
    elapsed time. `ignored`: values for other fields that do not count."""
    return structs.replace(verdict, study=None, elapsed_ns=0, **ignored).to_json()
