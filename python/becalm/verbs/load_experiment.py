"""A designed campaign: one program, run next to known loads by plan, stored as a study of kind "explain".

`load_experiment` tries which load this machine permits (`room`), draws a design (`becalm.load.plan`), and measures
it (`becalm.plans.load_steps`, `becalm.hosts.loaded`). The design is in the study's options: runs of round r had the
levels of its step r; warm-ups have negative rounds. `becalm explain` analyses such a study like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import msgspec
import numpy as np
from msgspec import structs

from becalm import system_clock
from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import Interrupted, MachineError, UsageError, WorkloadError
from becalm.hosts import Event, Host, LoadMade
from becalm.hosts.loaded import LoadedHost
from becalm.load.plan import FACTORS, MEMORY_LIMIT, LoadFactor, LoadPlan, check_runs, design
from becalm.nouns.demand import Demand, LoadResult
from becalm.nouns.options.load_experiment import LoadExperimentOptions
from becalm.nouns.run import Block, Outcome
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import CommandLine, Workload
from becalm.plans.load_steps import load_steps
from becalm.plans.run_log import RunLog
from becalm.study.measure import measure
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, split_keywords
from becalm.wording import run_problems
from becalm.wording.program_names import names_of

if TYPE_CHECKING:
    from becalm.verbs.keywords import LoadExperimentKeywords

TRIAL_NS = 700_000_000
"""The time for which the capacity of a disk and of the loopback network is tried, ns."""

SHARE = 0.6
"""The largest share of a disk's capacity that a plan uses: beyond saturation a load cannot grow."""

MOST_NETWORK = 200 << 20
"""The largest rate over loopback, bytes per second; a higher one is mostly load on the processors."""

MOST_OVER = 256 << 20
"""The largest amount of memory above the limit, bytes."""


class Room(msgspec.Struct, frozen=True):
    """The load that a machine permits: factors for a plan, and the reasons why others are missing, by name."""

    factors: tuple[LoadFactor, ...]
    excluded: dict[str, str]


class Campaign(msgspec.Struct, frozen=True):
    """A completed campaign. `loads`: what each step's load really did, by round; `excluded`: loads left out."""

    study: int
    design: LoadPlan
    runs: int
    loads: dict[int, LoadResult]
    excluded: dict[str, str]

    @property
    def sentence(self) -> str:
        """The sentence about the campaign."""
        names = ", ".join(factor.name for factor in self.design.factors)
        left = "".join(f" Without {name}: {why}" for name, why in self.excluded.items())
        return (
            f"{self.runs} runs in {len(self.design.steps)} steps under designed load of {names} "
            f"(variance inflation at most {self.design.worst:.2f}). Study {self.study}.{left}"
        )


@takes(LoadExperimentOptions, CommandLine, Workload, SessionOptions)
def load_experiment(command: str | Iterable[str] | Workload, **keywords: Unpack[LoadExperimentKeywords]) -> Campaign:
    """Run a program next to 20 to 60 known loads, in random order, with unloaded runs in between.

    Arguments:
        command: as for `becalm.run`.

    `becalm.explain` explains its study. Raises UsageError, WorkloadError, MachineError (this machine cannot make such
    load), StoreError.
    """
    options, session, program = split_keywords(LoadExperimentOptions, keywords)
    if session.store is False:
        raise UsageError("A designed campaign is explained from the store: leave --no-store out.")
    check_runs(options.steps)
    workload = Workload.of(command, **program)
    with open_session(session, "becalm explain --designed") as opened:
        host = LoadedHost(opened.host)
        capacity = room(opened.host, options.disk, options.loads)
        study = session.study("explain", [workload], options)
        rng = np.random.default_rng(study.seed)
        drawn = design(capacity.factors, options.steps, rng, options.disk)
        study = opened.fitted(structs.replace(study, options=replace(options, design=drawn.planned).to_json()))
        count = len(drawn.steps)
        log, loads, really = RunLog(), [step.demand for step in drawn.steps], dict[int, LoadResult]()

        def plan(log: RunLog) -> Block | None:
            return load_steps(log, loads, rng)

        def take(event: Event) -> None:
            opened.take(event)
            if isinstance(event, LoadMade):
                really[log.rows[-1].round] = event.load

        with opened.counting_delays(study) as study:
            host.define(study.workloads, study.settings, dangerous=session.dangerous)
            number = opened.begin(study)
            session.listener.started(number, names_of([workload]), StoppingRule(runs=count))
            measure(host, plan, log, take, detail=opened.detail)
        opened.settle()
        done = max(0, log.rows[-1].round) if log.rows else 0
        if log.failure is not None:
            stderr = opened.store.texts(number).get(log.failure.seq, ("", ""))[0]
            raise WorkloadError(run_problems.failure(workload.name, failure_numbers(log.failure, stderr, done)))
        if log.interrupted:
            raise Interrupted(
                f"Interrupted after {done} of {count} loads. What was measured is stored as study {number}: "
                f"becalm explain {number}"
            )
        counted = sum(not run.warmup and run.outcome == Outcome.OK for run in log.rows)
        return Campaign(number, drawn, counted, really, capacity.excluded)


def room(host: Host, directory: str, loads: Sequence[str] | None = None) -> Room:
    """Try which load a host permits. Raises MachineError for a requested one that it does not permit."""
    names = tuple(FACTORS) if loads is None else tuple(loads)
    for name in names:
        if name not in FACTORS:
            raise UsageError(f"There is no load {name!r}. Known: {', '.join(FACTORS)}.")
    factors, excluded = [], {}
    for name in names:
        try:
            factors.append(LoadFactor(name, _HIGHEST[name](host, directory)))
        except MachineError as error:
            if loads is not None:
                raise
            excluded[name] = str(error)
    return Room(tuple(factors), excluded)


def _processors(host: Host, directory: str) -> float:
    """Return twice the number of processors as the highest number of spinners, for a run queue of three for each."""
    return 2.0 * int(host.facts()["cpu"]["allowed_count"])


def _over(host: Host, directory: str) -> float:
    free = sum(area["size_bytes"] - area["used_bytes"] for area in host.facts()["memory"].get("swap") or ())
    over = min(MOST_OVER, free // 2)
    # Tried with the least load that swaps, since the generator reports why it is not possible.
    _tried(host, Demand(memory_bytes=MEMORY_LIMIT + max(over // 8, 1 << 20), limit_bytes=MEMORY_LIMIT))
    return float(over)


def _disk(host: Host, directory: str) -> float:
    return SHARE * _rate(host, Demand(disk_directory=directory), "disk")


def _network(host: Host, directory: str) -> float:
    return min(SHARE * _rate(host, Demand(network_rate=1e12), "network"), float(MOST_NETWORK))


def _tried(host: Host, demand: Demand) -> LoadResult:
    with host.loading(demand) as trial:
        system_clock.sleep(TRIAL_NS / 1e9)
        result = trial.end()
    if result.failure is not None:
        raise MachineError(result.failure)
    return result


def _rate(host: Host, demand: Demand, kind: str) -> float:
    result = _tried(host, demand)
    return result.done(kind) / (result.wall_ns / 1e9)


_HIGHEST = {"cpu": _processors, "memory": _over, "disk": _disk, "network": _network}
