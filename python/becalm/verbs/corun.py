"""`becalm corun A B C …`: how much speed programs lose next to each other on CPUs that share a cache.

`becalm.plans.corun` orders the runs, `becalm.analysis.corun` analyses them; the result is a study of its own kind, to
which `becalm place last` refers.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from becalm.analysis.corun import COUNTERS, chips_of, co_run_profile, threads_of
from becalm.errors import Interrupted, MachineError, RefusedError, UsageError, WorkloadError
from becalm.files.written import target, write
from becalm.hosts import Event, Noticed
from becalm.nouns.metric import Response
from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.run import Block
from becalm.nouns.settings import Settings
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import CommandLine, Neighbour, Output, Workload
from becalm.plans.corun import CoRunCell, cells, co_runs, pilot
from becalm.plans.run_log import RunLog
from becalm.report.document import Document
from becalm.results.corun import CoRunProfile
from becalm.study.measure import measure
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, split_keywords
from becalm.study.settings_profile import machine_of
from becalm.wording import compare, numbers
from becalm.wording import corun as wording
from becalm.workloads import open as open_workloads

if TYPE_CHECKING:
    from becalm.verbs.keywords import CorunKeywords

MOST_PROGRAMS = 32


@takes(CoRunOptions, CommandLine, Workload, SessionOptions, without=("alongside", "alongside_cpus", "name"))
def corun(
    programs: Sequence[str | Iterable[str] | Workload],
    *,
    save: str | Path | None = None,
    **keywords: Unpack[CorunKeywords],
) -> CoRunProfile:
    """Measure how much speed programs lose next to each other, for `becalm place`.

    Arguments:
        programs: two or more texts of sources, argument lists or Workloads; one that occurs twice is measured next to
            itself.
        save: a file for the profile, as JSON.

    Each program runs by itself on one CPU, and next to others that are kept running on CPUs that share the last cache,
    in rounds of random order. Pairs come first, in both directions, as many as fit into the budget; then larger sets.
    Raises UsageError, WorkloadError when fewer than two programs end well by themselves, RefusedError on a machine of
    one CPU, MachineError, StoreError; Interrupted when nothing was known yet.
    """
    options, session, program = split_keywords(CoRunOptions, keywords)
    if "cpus" in dict(session.settings.values):
        raise UsageError(wording.OWN_CPUS)
    path = None if save is None else _writable(Path(save))
    workloads = _named(open_workloads(list(programs), **program))
    if not 2 <= len(workloads) <= MOST_PROGRAMS:
        raise UsageError(
            f"{numbers.counted(len(workloads), 'program')} named; 2 to {MOST_PROGRAMS} can be measured next to each "
            "other. For example: becalm corun './server --test' 'xz -k -c FILE' kernel:triad"
        )
    with open_session(session, "becalm corun") as opened:
        # A host that cannot keep neighbours running refuses here.
        opened.host.define(
            _alongside(workloads, [CoRunCell(0, (1,))], [None]), [session.settings], dangerous=session.dangerous
        )
        facts = opened.host.facts()
        chips, known = chips_of(facts)
        if len(chips[0]) < 2:
            raise RefusedError(wording.ONE_CPU)
        threads = threads_of(facts)
        # One thread of each core: programs that share a core lose more than cache. A chip of one core has no more.
        sibling = chips[0][1] if threads > 1 and len(chips[0]) > threads else None
        apart = chips[0] if sibling is None else chips[0][::threads]
        room = min(len(apart), options.together or len(apart))
        cpu, *others = apart[:room]
        names = tuple(workload.name for workload in workloads)
        options = dataclasses.replace(
            options, names=names, chips=chips, cpu=cpu, alongside_cpus=tuple(others), threads=threads, sibling=sibling
        )
        some = cells(len(workloads), room, threads=sibling is not None)
        counted = _counted(workloads, facts)
        study = session.study(
            "corun",
            (*counted, *_alongside(workloads, some, others, sibling)),
            options,
            [_pinned(session.settings, cpu)],
        )
        study = opened.fitted(study)
        opened.host.define(study.workloads, study.settings, dangerous=session.dangerous)
        number = opened.begin(study)
        goal = StoppingRule(budget_ns=options.budget_ns, runs=options.rounds, warmup=2)
        session.listener.started(opened.shown, list(names), goal)
        log, tallies = RunLog(goes_on=True), dict[int, list[dict[str, Any]]]()

        def take(event: Event) -> None:
            opened.take(event)
            if isinstance(event, Noticed):
                _add(tallies, event)

        def plan(log: RunLog) -> Block | None:
            return co_runs(log.rows, len(names), some, options.budget_ns, options.rounds, study.seed)

        try:
            measure(opened.host, plan, log, take, detail=opened.detail, stop_on_failure=False)
        except MachineError as error:
            error.append(compare.kept(opened.shown, 0))
            raise
        opened.settle()
        profile = co_run_profile(
            study,
            some,
            log.rows,
            machine_of(facts),
            texts=opened.store.texts(number),
            tallies=tallies,
            remarks=() if known else (wording.NO_CACHES,),
            interrupted=log.interrupted,
        )
        profile = replace(profile, study=opened.shown)
        _enough(profile, log)
        opened.store.conclude(number, profile.to_json())
    if path is not None:
        write(path, json.dumps(profile.to_json(), indent=2, allow_nan=False) + "\n")
    return profile


def conclude_stored(document: Document) -> CoRunProfile:
    """Return the profile of a stored study that ended before it was concluded."""
    study = document.study
    alone = [workload.name for workload in study.workloads if not workload.alongside]
    places = {name: place for place, name in enumerate(alone)}
    sibling = CoRunOptions.from_json(study.options).sibling
    some = [
        CoRunCell(
            places[workload.name],
            tuple(places[near.workload.name] for near in workload.alongside),
            same_core=sibling is not None and workload.alongside[0].cpus == str(sibling),
        )
        for workload in study.workloads[len(places) :]
    ]
    profile = co_run_profile(
        study, some, document.runs, machine_of(document.facts), texts=document.texts, tallies={}, interrupted=True
    )
    return replace(profile, study=document.number)


def _named(workloads: Iterable[Workload]) -> list[Workload]:
    """Return the workloads with distinct names; a program that occurs again is NAME#2."""
    seen: dict[str, int] = {}
    result = []
    for workload in workloads:
        seen[workload.name] = seen.get(workload.name, 0) + 1
        again = seen[workload.name]
        result.append(workload if again == 1 else dataclasses.replace(workload, name=f"{workload.name}#{again}"))
    return result


def _alongside(
    workloads: Sequence[Workload], some: Sequence[CoRunCell], cpus: Sequence[int | None], sibling: int | None = None
) -> list[Workload]:
    """Return the workload of each cell: its program, with each neighbour on a CPU of its own."""
    plain = [
        dataclasses.replace(
            workload, prepare=None, setup=None, cleanup=None, cold=False, metrics=(), output=Output.DISCARD
        )
        for workload in workloads
    ]
    return [
        dataclasses.replace(
            workloads[cell.program],
            alongside=tuple(
                Neighbour(plain[other], None if cpu is None else str(cpu))
                for other, cpu in zip(cell.alongside, [sibling] if cell.same_core else cpus, strict=False)
            ),
        )
        for cell in some
    ]


def _counted(workloads: Sequence[Workload], facts: Mapping[str, Any]) -> list[Workload]:
    """Return the programs by themselves, with counters where the processor has them and no other metric is read."""
    hardware = (facts.get("counters") or {}).get("hardware") or {}
    if any(hardware.get(name) is not True for name in COUNTERS) or any(workload.metrics for workload in workloads):
        return list(workloads)
    counters = Response.of({"metric": [f"counter:{name}" for name in COUNTERS]})
    return [workload.measuring(counters) for workload in workloads]


def _pinned(settings: Settings, cpu: int) -> Settings:
    return Settings.of({**settings.to_json(), "cpus": str(cpu)})


def _add(tallies: dict[int, list[dict[str, Any]]], event: Noticed) -> None:
    """Add the counts of the neighbours of each workload over all blocks to `tallies`."""
    for neighbour in event.neighbours:
        before = tallies.setdefault(neighbour["workload"], [{} for _ in neighbour["did"]])
        for total, counts in zip(before, neighbour["did"], strict=True):
            for key, value in counts.items():
                if key == "status":
                    total[key] = total.get(key) if value is None else value
                else:
                    total[key] = total.get(key, 0) + value


def _enough(profile: CoRunProfile, log: RunLog) -> None:
    """Raise WorkloadError or Interrupted when no programs were measured together."""
    if any(run.runs for run in profile.co_runs):
        return
    if log.interrupted:
        raise Interrupted("Interrupted before two programs were measured together: there is no result yet.")
    if len(pilot(log.rows, len(profile.programs))) < 2:
        raise WorkloadError(wording.nothing(profile.remarks))
    raise WorkloadError(" ".join(profile.remarks) or "Nothing was measured together.")


def _writable(path: Path) -> Path:
    """Return the path of a file that can be written; called before measuring. Raises UsageError."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"The profile cannot be written to {path}: name a file in a directory that exists.")
    return target(path)
