"""From the runs of a study of `becalm corun` to a profile of what its programs lose beside each other.

Public: chips_of (which CPUs share a cache, by a machine's facts), co_run_profile.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
"""What is counted of programs alone, in this order, where the processor has all of them."""


def cpus_of(text: str) -> tuple[int, ...]:
    """The CPUs of a list of the kernel's: "0-2,5"."""
    found: list[int] = []
    for part in text.split(","):
        if part.strip():
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return tuple(found)


def threads_of(facts: Mapping[str, Any]) -> int:
    """2 where two CPUs that may be used share each core, that is its first cache; else 1: each counts as a core."""
    return 2 if {len(core) for core in _cores(facts)} == {2} else 1


def _cores(facts: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """CPUs that may be used, by the first cache of data that they share; none where nobody tells."""
    allowed = set(cpus_of((facts.get("cpu") or {}).get("allowed") or "0"))
    levels = (facts.get("caches") or {}).get("levels") or []
    lists = [
        cpus_of(text)
        for level in levels
        if level.get("level") == 1 and level.get("type") in ("unified", "data")
        for text in level["shared_cpu_lists"]
    ]
    found = sorted({tuple(cpu for cpu in cpus if cpu in allowed) for cpus in lists} - {()})
    return found if {cpu for cpus in found for cpu in cpus} == allowed else []


def chips_of(facts: Mapping[str, Any]) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """CPUs that may be used, by the last cache that they share, the largest number first, each core by core; False:
    nobody tells."""
    allowed = cpus_of((facts.get("cpu") or {}).get("allowed") or "0")
    levels = (facts.get("caches") or {}).get("levels") or []
    shared = [level for level in levels if level.get("type") in ("unified", "data")]
    last = max((each["level"] for each in shared), default=None)
    lists = [cpus_of(text) for each in shared if each["level"] == last for text in each["shared_cpu_lists"]]
    place = {cpu: number for number, core in enumerate(_cores(facts)) for cpu in core}
    chips = [tuple(sorted(set(cpus) & set(allowed), key=lambda cpu: (place.get(cpu, 0), cpu))) for cpus in lists]
    known = {cpu for cpus in chips for cpu in cpus}
    if not levels or known != set(allowed):
        return (allowed,), False
    return tuple(sorted((chip for chip in chips if chip), key=lambda chip: (-len(chip), chip))), True


def co_run_profile(
    study: Study,
    some: Sequence[CoRunCell],
    rows: Sequence[Run],
    machine: Mapping[str, str],
    *,
    texts: Mapping[int, tuple[str, str]],
    tallies: Mapping[int, Sequence[Mapping[str, Any]]],
    told: Sequence[str] = (),
    interrupted: bool = False,
) -> CoRunProfile:
    """What the runs say. `some`: the cells, of which the study has a workload each after its programs. `texts`: what
    runs wrote to standard error and output, by number; `tallies`: what the neighbours of a workload did; `told`: more
    remarks."""
    options = CoRunOptions.from_json(study.options)
    names = options.names or tuple(workload.name for workload in study.workloads if not workload.beside)
    by_workload: dict[int, list[Run]] = {}
    for run in rows:
        by_workload.setdefault(run.workload, []).append(run)

    def timed(workload: int) -> tuple[TimedRun, ...]:
        good = (run for run in by_workload.get(workload, ()) if run.round >= 0 and run.outcome == Outcome.OK)
        return tuple(TimedRun(run.round, run.seq, run.took_ns / 1e9) for run in good if run.took_ns > 0)

    def failed(workload: int) -> tuple[FailedRun, ...]:
        bad = (run for run in by_workload.get(workload, ()) if run.outcome not in (Outcome.OK, Outcome.ABORTED))
        return tuple(
            FailedRun(run.round, run.seq, wording.failed(run.outcome, run.status, texts.get(run.seq, ("", ""))[0]))
            for run in bad
        )

    programs = tuple(
        ProfiledProgram(name, study.workloads[index], timed(index), failed(index), _counted(by_workload.get(index, ())))
        for index, name in enumerate(names)
    )
    measured = []
    for place, cell in enumerate(some, len(names)):
        if place not in by_workload:
            continue
        name, beside = names[cell.program], tuple(names[each] for each in cell.beside)
        did = tallies.get(place, ())
        sentences = [
            each
            for neighbour, one in zip(beside, did, strict=False)
            for each in trouble(neighbour, name, one)
        ]  # fmt: skip
        restarts = sum(each["restarts"] for each in did)
        runs = timed(place), failed(place)
        hardly = tuple(neighbour for neighbour, one in zip(beside, did, strict=False) if hardly_ran(one))
        measured.append(CoRun(name, beside, *runs, restarts, tuple(sentences), cell.same_core, hardly))
    profile = CoRunProfile(
        machine,
        tuple(Chip(len(chip) // options.threads, options.threads, cpus=chip) for chip in options.chips),
        programs,
        tuple(measured),
        _left_out(names, some, programs, measured, wording.INTERRUPTED if interrupted else wording.NO_TIME),
        options.cpu,
        options.beside_cpus,
        interrupted,
        _waited(rows),
    )
    if options.emulated:
        told = (study_findings.emulated("", {"reason": options.emulated}), *told)
    return replace(profile, sentence=wording.sentence(profile), remarks=wording.remarks(profile, told))


def _left_out(
    names: Sequence[str],
    some: Sequence[CoRunCell],
    programs: Sequence[ProfiledProgram],
    measured: Sequence[CoRun],
    ended: str,
) -> tuple[LeftOut, ...]:
    """Sets of programs of which one way or more were not measured. `ended`: why there was no time for those that did
    not fail."""
    known = {(run.program, frozenset(run.beside), run.same_core) for run in measured if run.runs}
    tried = {(run.program, frozenset(run.beside), run.same_core) for run in measured if run.failed}
    bad = {program.name for program in programs if not program.alone}
    found: dict[tuple[tuple[int, ...], bool], str] = {}
    for cell in some:
        key = (names[cell.program], frozenset(names[each] for each in cell.beside), cell.same_core)
        if key not in known:
            alone = any(names[each] in bad for each in cell.together)
            reason = wording.FAILED_BESIDE if key in tried else ended
            found[cell.group] = wording.FAILED_ALONE if alone else reason
    return tuple(
        LeftOut(tuple(names[each] for each in group), reason, same_core) for (group, same_core), reason in found.items()
    )


def _waited(rows: Sequence[Run]) -> float | None:
    """Share of the time of runs that count in which they waited for a CPU."""
    good = [run for run in rows if run.round >= 0 and run.outcome == Outcome.OK and run.took_ns > 0]
    known = [run.wait_ns for run in good if run.wait_ns is not None]
    return sum(known) / sum(run.took_ns for run in good) if good and len(known) == len(good) else None


def _counted(rows: Sequence[Run]) -> Counted | None:
    """The middle of what was counted, where all of it was."""
    counts = [run.metrics for run in rows if run.metrics and run.outcome == Outcome.OK and run.round >= 0]
    counts = [count for count in counts if len(count) == len(COUNTERS)]
    return Counted(*(statistics.median(column) for column in zip(*counts, strict=True))) if counts else None
