"""The profile of a study of `becalm corun`: how much its programs slow each other.

Public: chips_of (the CPUs that share a cache, from a machine's facts), co_run_profile.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.study import Study
from becalm.plans.corun import CoRunCell
from becalm.results.corun import CoRun, CoRunProfile, Counted, FailedRun, LeftOut, ProfiledProgram, TimedRun
from becalm.results.place_costs import Chip
from becalm.wording import corun as wording
from becalm.wording import study_findings
from becalm.wording.neighbours import hardly_ran, trouble

COUNTERS = ("cycles", "instructions", "cache-misses")
"""The counters of a program that runs alone, in this order, where the processor has all of them."""


def cpus_of(text: str) -> tuple[int, ...]:
    """Return the CPUs of a list as the kernel writes it: "0-2,5"."""
    cpus: list[int] = []
    for part in text.split(","):
        if part.strip():
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def threads_of(facts: Mapping[str, Any]) -> int:
    """Return 2 where each core (first cache) is shared by two usable CPUs; else 1, and each CPU counts as a core."""
    return 2 if {len(core) for core in _cores(facts)} == {2} else 1


def _cores(facts: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Return the usable CPUs, grouped by the first data cache that they share; nothing where that is unknown."""
    allowed = set(cpus_of((facts.get("cpu") or {}).get("allowed") or "0"))
    levels = (facts.get("caches") or {}).get("levels") or []
    lists = [
        cpus_of(text)
        for level in levels
        if level.get("level") == 1 and level.get("type") in ("unified", "data")
        for text in level["shared_cpu_lists"]
    ]
    cores = sorted({tuple(cpu for cpu in cpus if cpu in allowed) for cpus in lists} - {()})
    return cores if {cpu for cpus in cores for cpu in cpus} == allowed else []


def chips_of(facts: Mapping[str, Any]) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Return the usable CPUs, grouped by the last cache that they share, and whether the machine states that.

    Large groups come first; the CPUs of a group are in the order of their cores.
    """
    allowed = cpus_of((facts.get("cpu") or {}).get("allowed") or "0")
    levels = (facts.get("caches") or {}).get("levels") or []
    shared = [level for level in levels if level.get("type") in ("unified", "data")]
    last = max((level["level"] for level in shared), default=None)
    lists = [cpus_of(text) for level in shared if level["level"] == last for text in level["shared_cpu_lists"]]
    core_number = {cpu: number for number, core in enumerate(_cores(facts)) for cpu in core}
    chips = [tuple(sorted(set(cpus) & set(allowed), key=lambda cpu: (core_number.get(cpu, 0), cpu))) for cpus in lists]
    covered = {cpu for cpus in chips for cpu in cpus}
    if not levels or covered != set(allowed):
        return (allowed,), False
    return tuple(sorted((chip for chip in chips if chip), key=lambda chip: (-len(chip), chip))), True


def co_run_profile(
    study: Study,
    cells: Sequence[CoRunCell],
    rows: Sequence[Run],
    machine: Mapping[str, str],
    *,
    texts: Mapping[int, tuple[str, str]],
    tallies: Mapping[int, Sequence[Mapping[str, Any]]],
    remarks: Sequence[str] = (),
    interrupted: bool = False,
) -> CoRunProfile:
    """Return the profile of the runs of a study.

    Arguments:
        cells: the study has a workload for each cell, after the workloads of its programs.
        texts: standard error and output of runs by number.
        tallies: the tallies of the neighbours by workload.
        remarks: further remarks for the profile.
    """
    options = CoRunOptions.from_json(study.options)
    names = options.names or tuple(workload.name for workload in study.workloads if not workload.alongside)
    by_workload: dict[int, list[Run]] = {}
    for run in rows:
        by_workload.setdefault(run.workload, []).append(run)

    def timed_runs(workload: int) -> tuple[TimedRun, ...]:
        runs = (run for run in by_workload.get(workload, ()) if run.round >= 0 and run.outcome == Outcome.OK)
        return tuple(TimedRun(run.round, run.seq, run.took_ns / 1e9) for run in runs if run.took_ns > 0)

    def failed_runs(workload: int) -> tuple[FailedRun, ...]:
        runs = (run for run in by_workload.get(workload, ()) if run.outcome not in (Outcome.OK, Outcome.ABORTED))
        return tuple(
            FailedRun(run.round, run.seq, wording.failed(run.outcome, run.status, texts.get(run.seq, ("", ""))[0]))
            for run in runs
        )

    programs = tuple(
        ProfiledProgram(
            name, study.workloads[index], timed_runs(index), failed_runs(index), _counted(by_workload.get(index, ()))
        )
        for index, name in enumerate(names)
    )
    co_runs = []
    for place, cell in enumerate(cells, len(names)):
        if place not in by_workload:
            continue
        name, neighbours = names[cell.program], tuple(names[index] for index in cell.alongside)
        neighbour_tallies = tallies.get(place, ())
        sentences = [
            sentence
            for neighbour, tally in zip(neighbours, neighbour_tallies, strict=False)
            for sentence in trouble(neighbour, name, tally)
        ]
        restarts = sum(tally["restarts"] for tally in neighbour_tallies)
        runs = timed_runs(place), failed_runs(place)
        stalled = tuple(
            neighbour for neighbour, tally in zip(neighbours, neighbour_tallies, strict=False) if hardly_ran(tally)
        )
        co_runs.append(CoRun(name, neighbours, *runs, restarts, tuple(sentences), cell.same_core, stalled))
    profile = CoRunProfile(
        machine,
        tuple(Chip(len(chip) // options.threads, options.threads, cpus=chip) for chip in options.chips),
        programs,
        tuple(co_runs),
        _left_out(names, cells, programs, co_runs, wording.INTERRUPTED if interrupted else wording.NO_TIME),
        options.cpu,
        options.alongside_cpus,
        interrupted,
        _wait_share(rows),
    )
    if options.emulated:
        remarks = (study_findings.emulated("", {"reason": options.emulated}), *remarks)
    return replace(profile, sentence=wording.sentence(profile), remarks=wording.remarks(profile, remarks))


def _left_out(
    names: Sequence[str],
    cells: Sequence[CoRunCell],
    programs: Sequence[ProfiledProgram],
    co_runs: Sequence[CoRun],
    no_time_reason: str,
) -> tuple[LeftOut, ...]:
    """Return the sets of programs with at least one cell that was not measured.

    `no_time_reason`: why there was no time for cells that did not fail.
    """
    measured_keys = {(run.program, frozenset(run.alongside), run.same_core) for run in co_runs if run.runs}
    tried = {(run.program, frozenset(run.alongside), run.same_core) for run in co_runs if run.failed}
    unusable = {program.name for program in programs if not program.alone}
    reasons: dict[tuple[tuple[int, ...], bool], str] = {}
    for cell in cells:
        key = (names[cell.program], frozenset(names[index] for index in cell.alongside), cell.same_core)
        if key not in measured_keys:
            fails_alone = any(names[index] in unusable for index in cell.together)
            reason = wording.FAILED_ALONGSIDE if key in tried else no_time_reason
            reasons[cell.group] = wording.FAILED_ALONE if fails_alone else reason
    return tuple(
        LeftOut(tuple(names[index] for index in group), reason, same_core)
        for (group, same_core), reason in reasons.items()
    )


def _wait_share(rows: Sequence[Run]) -> float | None:
    """Return the share of the time of the counted runs in which they waited for a CPU; None when it is not known for
    all."""
    counted_runs = [run for run in rows if run.round >= 0 and run.outcome == Outcome.OK and run.took_ns > 0]
    waits = [run.wait_ns for run in counted_runs if run.wait_ns is not None]
    return (
        sum(waits) / sum(run.took_ns for run in counted_runs)
        if counted_runs and len(waits) == len(counted_runs)
        else None
    )


def _counted(rows: Sequence[Run]) -> Counted | None:
    """Return the median of each counter over the runs of a program; None where no run has all counters."""
    counts = [run.metrics for run in rows if run.metrics and run.outcome == Outcome.OK and run.round >= 0]
    counts = [count for count in counts if len(count) == len(COUNTERS)]
    return Counted(*(statistics.median(column) for column in zip(*counts, strict=True))) if counts else None
