"""`becalm explain`: the other load on the machine during stored runs, and which part of it made them slow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.load.background_load import Observed, busy, observed, planned_reference, pooled
from becalm.load.bottlenecks import bottleneck, bottlenecks, forced_wait, mean_delay
from becalm.load.cpu_competition import circumstances, quota_cpus
from becalm.load.delay import OWN_CPU, Competition
from becalm.load.evidence import Evidence, evidence
from becalm.load.explanation import Case, Explanation, LoadPoint, Spread
from becalm.load.limits import beyond
from becalm.load.metrics import MEASURES
from becalm.load.plan import FACTORS
from becalm.load.record import Load
from becalm.load.reported_waits import reported_waits
from becalm.load.waits import Waiting
from becalm.load.waterfall import REFERENCE, Bar, waterfall
from becalm.nouns.codec import plain_dict
from becalm.nouns.finding import Finding
from becalm.nouns.options.load_experiment import LoadExperimentOptions, PlannedLoads
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.store import Store, recover
from becalm.study.settings_in_force import DELAYS
from becalm.study.stored import tell_damaged
from becalm.wording import explain as sentences
from becalm.wording.damage import recovered
from becalm.wording.findings import finding, sentence

MOST_POINTS = 400
"""The largest number of observations of one program; above it neighbours are pooled, since more only take time."""

SHORTEST_NS = 100_000_000
"""The shortest interval of an observation, ns: the kernel counts busy time in steps of 10 ms."""


class _Seen(msgspec.Struct, frozen=True):
    """The observations of one program on one machine. `calm`: those of unloaded runs, if a plan names such runs.

    `plans`: the kinds of load that each study's plan drew; empty sets without a plan.
    """

    observations: list[Observed]
    calm: list[Observed]
    plans: list[frozenset[str]]

    @property
    def designed(self) -> bool:
        """Whether all loads were drawn by plans."""
        return all(self.plans)

    @property
    def injected(self) -> set[str]:
        """The causes whose loads were drawn, if all were drawn."""
        kinds = frozenset().union(*self.plans) if self.designed else frozenset()
        return {kind.cause for name, kind in FACTORS.items() if name in kinds}


def explain(
    *studies: str | int,
    program: str | None = None,
    last: bool = False,
    store: str | None = None,
    seed: int = 0,
    warned: Callable[[str], None] | None = None,
) -> Explanation:
    """Explain the delays of stored runs by the load during them.

    Arguments:
        studies: numbers of studies, or "last"; none: those that `program` selects, or the last one.
        program: only programs whose name contains this text; without studies, of every study of the store.
        last: explain the last study, as "last" does.
        store: file or URL of the store.
        seed: the seed of the bootstrap and of permutations.
        warned: called with a sentence about runs recovered from killed becalms, and about damaged parts of the store.

    Raises UsageError when there is no such study, no such program, or no load was recorded; StoreError.
    """
    with Store.open(store) as opened:
        for late in recover(opened, heard=warned is not None):
            if warned is not None:
                warned(recovered(late.study_id, late.runs, late.aside))
        chosen = _chosen(opened, studies, program, last)
        seen: dict[tuple[str, str], _Seen] = {}
        findings, used = [], []
        around: dict[str, list[Load]] = {}
        for stored in chosen:
            loads = opened.loads(stored.number)
            if not loads:
                if len(chosen) == 1:
                    tell_damaged(opened, stored.number, warned)
                    raise UsageError(sentence("no_load", _without_load(stored)))
                findings.append(finding("no_load", _without_load(stored)))
                continue
            used.append(stored.number)
            if unreal := stored.study.options.get("emulated"):
                findings.append(finding("emulated", {"reason": unreal}))
            around.setdefault(_machine(stored), []).extend(loads)
            timed = (run for run in opened.runs(stored.number) if run.wall_ns is not None)
            _look(stored, timed, loads, program, seen)
            findings += _waits(opened, stored, loads)
        for stored in chosen:
            tell_damaged(opened, stored.number, warned)
    cases = []
    for (name, machine), observed_program in sorted(seen.items()):
        reference, loaded = planned_reference(observed_program.calm)
        if loaded:
            steps, uses = len(observed_program.calm), reference is not None
            findings.append(
                finding("loaded_reference", {"machine": machine, "loaded": loaded, "steps": steps, "used": uses}, name)
            )
        result = evidence(
            observed_program.observations,
            designed=observed_program.designed,
            injected=observed_program.injected,
            reference=reference,
            seed=seed,
        )
        if result is None:
            findings.append(finding("no_delay", {"machine": machine}, name))
        else:
            cases.append(_case(result, observed_program.designed))
    for machine, loads in around.items():
        for over in beyond(loads):
            numbers = {"machine": machine, "events": over.events, "of": over.of, "limit": over.limit.most}
            findings.append(finding(over.limit.kind, numbers))
    if not cases and not findings:
        raise UsageError(
            "These studies hold no finished run whose load was recorded. `becalm list` shows the others. If sar ran at "
            "that time, import its record; it gives runs with time stamps their load: becalm import --study NUMBER "
            "sa.json"
        )
    explanation = Explanation(tuple(sorted(used)), tuple(cases), tuple(bottlenecks(cases)), tuple(_once(findings)))
    return replace(explanation, sentence=sentences.explanation(explanation))


def _waits(store: Store, stored: StoredStudy, loads: Sequence[Load]) -> Iterator[Finding]:
    """Yield the findings on whom the programs of a study waited for, where the waits matter."""
    names = stored.study.workloads
    name = names[0].name if len(names) == 1 else ""
    waits = reported_waits(
        loads, lambda: store.runs(stored.number), store.others(stored.number), quota_cpus(stored.facts)
    )
    for kind, wait in waits:
        # Waits for a CPU whose causes were not recorded are in the waterfall.
        if not isinstance(wait, Waiting) or wait.blocks:
            yield finding(kind, plain_dict(wait), name)


def _chosen(store: Store, studies: Sequence[str | int], program: str | None, last: bool) -> list[StoredStudy]:
    if last or not (studies or program):
        studies = (*studies, "last")
    if studies:
        numbers = dict.fromkeys(store.resolve(study) for study in studies)
        stored_studies = [store.study(number) for number in numbers]
    else:
        stored_studies = store.studies()
    if program is None:
        return stored_studies
    matching = [
        stored for stored in stored_studies if any(program in workload.name for workload in stored.study.workloads)
    ]
    if not matching:
        raise UsageError(f"No program of these studies has {program!r} in its name. `becalm list` shows the programs.")
    return sorted(matching, key=lambda stored: stored.number)


def _without_load(stored: StoredStudy) -> dict[str, Any]:
    """Return the number of a study without a load record, and whether another tool may have recorded the load."""
    return {"study": stored.number, "imported": stored.study.kind == "import" or stored.environment != "known"}


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without repetitions between studies."""
    return list({finding.sentence: finding for finding in findings}.values())


def _machine(stored: StoredStudy) -> str:
    """Return a name for the machine: its own, with that of the host where becalm reached it by another name."""
    facts: Any = stored.facts.get("host") or {}
    name = facts.get("hostname") if isinstance(facts, Mapping) else None
    host = stored.study.host
    if not name:
        return host
    return str(name) if host == "local" else f"{name} ({host})"


def _look(
    stored: StoredStudy,
    runs: Iterable[Run],
    loads: Sequence[Load],
    program: str | None,
    seen: dict[tuple[str, str], _Seen],
) -> None:
    """Sort the runs of one study by program and machine into `seen`."""
    study, machine = stored.study, _machine(stored)
    plan = _plan(study)
    # A program counts as another one under other settings, since they may change what it waits for.
    width = len(study.settings)
    names = [workload.name + _label(settings) for workload in study.workloads for settings in study.settings]
    rounds: dict[int, int] = {}
    if plan is not None:
        runs = list(runs)
        rounds = {run.seq: run.round for run in runs}
    apart = (run._replace(workload=run.workload * width + run.settings) for run in runs)

    def around(run: Run, load: Load) -> Competition:
        return circumstances(load, study.settings[run.settings], stored.facts)

    observations = observed(stored.number, machine, names, apart, loads, around)
    for name in dict.fromkeys(names):
        mine = [observation for observation in observations if observation.program == name]
        if not mine or (program is not None and program not in name):
            continue
        program_seen = seen.setdefault((name, machine), _Seen([], [], []))
        if plan is None:
            mine = _thinned(mine)
            program_seen.plans.append(frozenset())
        else:
            # All runs of a round had one load, so together they are one observation.
            steps = plan.steps
            program_seen.plans.append(frozenset().union(*steps))
            cpu = "cpu" in program_seen.plans[-1]
            by_round = [(rounds[observation.seqs[0]], observation) for observation in mine]
            for number, part in groupby(by_round, lambda pair: pair[0]):
                step = _planned(pooled([observation for _, observation in part]), steps[number], cpu)
                program_seen.observations.append(step)
                if not steps[number]:
                    program_seen.calm.append(step)
            continue
        program_seen.observations.extend(mine)


def _plan(study: Study) -> PlannedLoads | None:
    """Return the plan of loads with which a study was measured. Raise UsageError for a damaged one."""
    # Other kinds have options of the same names: `design` of `tune` names a design of its search.
    return LoadExperimentOptions.from_json(study.options).design if study.kind == "explain" else None


def _planned(step: Observed, levels: Mapping[str, float], cpu: bool) -> Observed:
    """Return a step with its run queue, where that was not sampled, as in a short step or where sampling is expensive.

    The queue held the tasks of the plan's load and the program's own. A plan without load on the CPUs (`cpu`) does not
    determine it, nor does a plan where others waited for CPUs although there are no more tasks than CPUs."""
    if step.around.queue is not None or not cpu:
        return step
    queue, cpus = step.times.ready + levels.get("cpu", 0.0), step.around.cpus
    if cpus and queue <= cpus and busy(step, None):
        return step
    return replace(step, around=replace(step.around, queue=queue))


def _thinned(observeds: list[Observed]) -> list[Observed]:
    """Return observations pooled with neighbours to intervals of SHORTEST_NS at least, and at most MOST_POINTS."""
    parts: list[list[Observed]] = [[]]
    spent = 0
    for observation in observeds:
        parts[-1].append(observation)
        spent += observation.load.interval_ns
        if spent >= SHORTEST_NS:
            parts.append([])
            spent = 0
    if spent and len(parts) > 1:
        rest = parts.pop()
        parts[-1].extend(rest)
    long = [pooled(part) for part in parts if part]
    size = -(-len(long) // MOST_POINTS)
    return [pooled(long[start : start + size]) for start in range(0, len(long), size)]


def _label(settings: Settings) -> str:
    """Return a label of the settings that change how a program runs; counting its delays does not."""
    label = ", ".join(f"{name}={value}" for name, value in settings.values if name != DELAYS)
    return f" [{label}]" if label else ""


def _case(result: Evidence, designed: bool) -> Case:
    points = tuple(
        LoadPoint(
            study=observation.study,
            first=min(observation.seqs),
            last=max(observation.seqs),
            runs=observation.times.runs,
            delay=late,
            queue=observation.around.queue
            if (observation.around.cpus or 0.0) < (observation.load.cpus or 0)
            else observation.load.queue,
            cpus=observation.around.cpus,
            measures={name: values[index] for name, values in result.measures.items()},
            bars={bar.name: bar.ns for bar in fall.bars},
            refused=fall.refused,
        )
        for index, (observation, late, fall) in enumerate(
            zip(result.observations, result.delays, result.waterfalls, strict=True)
        )
    )
    whole = pooled(result.observations)
    fall = waterfall(whole.times, result.reference, whole.around.cpus)
    bars: tuple[Bar, ...] = () if fall is None else fall.bars
    refused = "" if fall is None else fall.refused
    late = mean_delay(points, result.runs)
    name, share = (None, None) if refused else bottleneck(bars, late)
    forced = None if refused else forced_wait(bars, late)
    case = Case(
        program=result.program,
        machine=result.machine,
        studies=tuple(sorted({observation.study for observation in result.observations})),
        runs=result.runs,
        designed=designed,
        reference=OWN_CPU if fall is None else fall.reference,
        reference_ns=next((bar.ns or 0.0 for bar in bars if bar.name == REFERENCE), 0.0),
        points=points,
        attribution=result.attribution,
        bars=bars,
        bottleneck=name,
        bottleneck_share=share,
        refused=refused,
        forced=None if forced is None else forced.name,
        load=tuple(_spreads([observation.load for observation in result.observations])),
    )
    return replace(case, sentence=sentences.case(case))


def _spreads(loads: Sequence[Load]) -> Iterator[Spread]:
    for measure in MEASURES:
        known = [value for load in loads if (value := measure.of(load)) is not None]
        if known:
            yield Spread(measure.name, fmean(known), min(known), max(known))
