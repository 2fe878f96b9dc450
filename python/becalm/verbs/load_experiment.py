"""A designed campaign: one program, run beside known loads by plan, kept as a study of kind "explain".

`campaign` finds out what load this machine allows (`room`), draws a plan (`becalm.load.design`), and measures it:
before each block its load is made to begin (`becalm.study.load_generator`), after it to end. The plan is in the study's
options as `design`: runs of round r had the levels of its step r; warm-ups have negative rounds. `becalm explain`
analyses such a study like any other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack

import numpy as np

from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import Interrupted, MachineError, UsageError, WorkloadError
from becalm.load.demand import Demand, Made
from becalm.load.design import FACTORS, MEMORY_LIMIT, Design, Factor, Step, design
from becalm.nouns.history import History
from becalm.nouns.options.load_experiment import LoadExperimentOptions
from becalm.nouns.run import Block
from becalm.nouns.run import Step as Run
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import CommandLine, ProgramKeywords, Workload
from becalm.plans.interleave import LARGEST_PADDING
from becalm.study.load_generator import Loading
from becalm.study.measure import measure
from becalm.study.session import open_session
from becalm.study.session_options import SessionKeywords, SessionOptions, asked
from becalm.wording import measurement

WARMUPS = 2
"""Unloaded runs first, not counted: caches fill, and the program's length becomes known."""

BLOCK_NS = 500_000_000
LARGEST_BLOCK = 20
"""Short programs are run several times beside one load, so that its counters have moved."""

SETTLE_S = 0.3
"""Between the beginning of a load and that of a run: queues fill, the scheduler moves tasks."""

TRIAL_NS = 700_000_000
"""How long it is tried what a disk and the loopback network can do."""

SHARE = 0.6
"""Part of what a disk can do that a plan asks for at most: beyond saturation more load is no more load."""

MOST_NETWORK = 200 << 20
"""Bytes per second over loopback; more is mostly load on the processors."""

MOST_OVER = 256 << 20
"""Bytes of memory above the limit."""


@dataclass(frozen=True, slots=True)
class Room:
    """What load this machine allows: factors for a plan, and by name why the others are none."""

    factors: tuple[Factor, ...]
    excluded: dict[str, str]


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign that was made. `made`: what each step's load really did, by round; `excluded`: loads left out."""

    study: int
    design: Design
    runs: int
    made: dict[int, Made]
    excluded: dict[str, str]

    @property
    def sentence(self) -> str:
        """For the person."""
        names = ", ".join(each.name for each in self.design.factors)
        left = "".join(f" Without {name}: {why}" for name, why in self.excluded.items())
        return (
            f"{self.runs} runs in {len(self.design.steps)} steps beside designed load of {names} "
            f"(variance inflation at most {self.design.worst:.2f}). Study {self.study}.{left}"
        )


class _Own(TypedDict, total=False):
    steps: int
    loads: str | Sequence[str] | None
    disk: str


class LoadExperimentKeywords(_Own, SessionKeywords, ProgramKeywords, total=False):
    """The options of `load_experiment` as type checkers see them."""


@takes(LoadExperimentOptions, CommandLine, Workload, SessionOptions)
def load_experiment(command: str | Iterable[str] | Workload, **given: Unpack[LoadExperimentKeywords]) -> Campaign:
    """Run a program beside 20 to 60 known loads, in random order, with unloaded runs in between.

    Arguments:
        command: as for `becalm.run`.

    `becalm.explain` says what its study shows. Raises UsageError, WorkloadError, MachineError (this machine cannot make
    such load), StoreError.
    """
    options, session, program = asked(LoadExperimentOptions, given)
    if session.host != "local":
        raise UsageError(
            f"Designed load is made on the machine that becalm runs on, and the host is {session.host_name!r}. Run "
            "becalm there, or explain runs that had other load: becalm explain, without --designed."
        )
    if session.store is False:
        raise UsageError("A designed campaign is explained from the store: leave --no-store out.")
    made = Workload.of(command, **program)
    study = session.study("explain", [made], options)
    found = room(options.disk, options.loads)
    rng = np.random.default_rng(study.seed)
    plan = design(found.factors, options.steps, rng, options.disk)
    study = replace(study, options=replace(options, design=plan.planned).to_json())
    state = _Conduct(plan.steps, rng)
    with open_session(session, "becalm explain --designed") as opened:
        opened.host.define(study.workloads, study.settings, dangerous=session.dangerous)
        number = opened.begin(study)
        session.listener.started(number, measurement.short([made.name]), StoppingRule(runs=len(plan.steps)))
        try:
            measure(opened.host, state.plan, state.history, opened.take, detail=opened.detail)
        finally:
            state.end()
        opened.settle()
        if state.history.failure is not None:
            stderr = opened.store.texts(number).get(state.history.failure.seq, ("", ""))[0]
            raise WorkloadError(
                measurement.failure(made.name, failure_numbers(state.history.failure, stderr, state.step))
            )
        if state.history.interrupted:
            raise Interrupted(
                f"Interrupted after {state.step} of {len(plan.steps)} loads. What was measured is kept as study "
                f"{number}: becalm explain {number}"
            )
        return Campaign(number, plan, state.history.good[0], state.made, found.excluded)


def room(directory: str, loads: Sequence[str] | None = None) -> Room:
    """Try what load this machine allows. Raises MachineError for one that was asked for and cannot be."""
    wanted = tuple(FACTORS) if loads is None else tuple(loads)
    for name in wanted:
        if name not in FACTORS:
            raise UsageError(f"There is no load {name!r}. Known: {', '.join(FACTORS)}.")
    factors, excluded = [], {}
    for name in wanted:
        try:
            factors.append(Factor(name, _HIGHEST[name](directory)))
        except MachineError as error:
            if loads is not None:
                raise
            excluded[name] = str(error)
    return Room(tuple(factors), excluded)


def _processors(directory: str) -> float:
    """Twice as many spinners as processors: a run queue of three for each, as far as fair sharing shows."""
    return 2.0 * len(os.sched_getaffinity(0))


def _over(directory: str) -> float:
    with open("/proc/meminfo", encoding="ascii") as file:
        values = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
    over = min(MOST_OVER, values.get("SwapFree", 0) // 2)
    # Tried with the least that swaps: the generator says why it cannot be.
    with Loading(
        Demand(memory_bytes=MEMORY_LIMIT + max(over // 8, 1 << 20), limit_bytes=MEMORY_LIMIT), TRIAL_NS
    ) as trial:
        trial.wait()
    return float(over)


def _disk(directory: str) -> float:
    return SHARE * _rate(Demand(disk_directory=directory), "disk")


def _network(directory: str) -> float:
    return min(SHARE * _rate(Demand(network_rate=1e12), "network"), float(MOST_NETWORK))


def _rate(demand: Demand, kind: str) -> float:
    with Loading(demand, TRIAL_NS) as trial:
        made = trial.wait()
    return made.done(kind) / (made.wall_ns / 1e9)


_HIGHEST = {"cpu": _processors, "memory": _over, "disk": _disk, "network": _network}


@dataclass(slots=True)
class _Conduct:
    """Where a campaign is: the plan that the measuring loop asks for blocks."""

    steps: Sequence[Step]
    rng: np.random.Generator
    history: History = field(default_factory=lambda: History(1))
    made: dict[int, Made] = field(default_factory=dict)
    step: int = 0
    """Steps that are done."""
    _begun: int = -1
    _loading: Loading | None = None
    _repeat: int = 1
    _since_ns: int = 0

    def plan(self, history: History) -> Block | None:
        """End the load of the block before, begin the next one's, and say what to run beside it."""
        if self._begun < 0:
            self._begun = 0
            self._since_ns = time.monotonic_ns()
            return Block(tuple(self._run(number - WARMUPS) for number in range(WARMUPS)))
        if self._begun == 0:
            each_ns = (time.monotonic_ns() - self._since_ns) / WARMUPS
            self._repeat = int(min(max(BLOCK_NS / each_ns, 1.0), LARGEST_BLOCK))
        self.end()
        self.step = self._begun
        if self._begun == len(self.steps):
            return None
        step = self.steps[self._begun]
        if not step.reference:
            self._loading = Loading(step.demand)
        time.sleep(SETTLE_S)
        block = Block(tuple(self._run(self._begun) for _ in range(self._repeat)))
        self._begun += 1
        return block

    def end(self) -> None:
        """End the load that there is, and keep what it did."""
        loading, self._loading = self._loading, None
        if loading is None:
            return
        with loading:
            made = loading.end()
        self.made[self._begun - 1] = made
        if made.failure is not None and not self.history.interrupted:
            raise MachineError(f"The load did not last: {made.failure} What was measured before is kept.")

    def _run(self, number: int) -> Run:
        return Run(0, 0, int(self.rng.random() * LARGEST_PADDING), number)
