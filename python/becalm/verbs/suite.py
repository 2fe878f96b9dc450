"""`becalm suite`: a suite of one's own programs, rated against reference times as SPEC rates its own.

`suite` reads the file (`becalm.workloads.suite`), measures each program alone and in copies, in base and peak, in
randomly ordered rounds, as one study of kind "suite", and rates the results (`becalm.analysis.suite_runs`, which
explains its workloads); its settings are those of the tunings.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from msgspec.structs import replace

from becalm.analysis.suite_runs import cells, ratings
from becalm.errors import UnfinishedError, UsageError
from becalm.hosts import Ability, Event, Host, Loads
from becalm.load.record import Load
from becalm.nouns.codec import Json
from becalm.nouns.metric import Response
from becalm.nouns.option import parse_keywords
from becalm.nouns.options.suite import TUNINGS, SuiteOptions, SuiteParts
from becalm.nouns.run import Block, Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.workload import CommandLine, Workload
from becalm.plans.rounds import rounds
from becalm.plans.run_log import RunLog
from becalm.report.document import Document
from becalm.results.compare import Verdict
from becalm.results.suite import Ratings
from becalm.study.conclude import nothing_measured, summarise_stored
from becalm.study.measure import measure
from becalm.study.missing_programs import define, note_missing
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.units import cpu_list
from becalm.wording.program_names import names_of
from becalm.wording.suite import copies as counted
from becalm.wording.suite import sentence as concluding
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.suite import Listed, Suite, read

if TYPE_CHECKING:
    from becalm.verbs.keywords import SuiteKeywords

CORES = ("first-core", "last-core")
"""Values of `isolation` that name one core with all its threads."""


@takes(SuiteParts, SuiteOptions, Response, CommandLine, Workload, WithProfile, SessionOptions, without=("name",))
def suite(file: str, **keywords: Unpack[SuiteKeywords]) -> Ratings:
    """Rate all programs of a file.

    Arguments:
        file: a TOML file (docs/how-to/suite.md). The options of a program hold where the file has none.

    Raises UsageError, MachineError, StoreError, and WorkloadError when not one run of any program ended well.
    """
    parts = SuiteParts(**parse_keywords(SuiteParts, keywords))
    options, session, program = split_keywords(SuiteOptions, keywords, SuiteParts, WithProfile, Response)
    if options.copies is not None and not parts.rates:
        raise UsageError("--copies is for the rate, which --no-rate leaves out. Leave one out.")
    suite_file = read(file, ProgramOptions.of(session.user, program).measuring(Response.of(keywords)))
    names = _tunings(suite_file, parts.tuning, file)
    rates = parts.rates and not _printing(suite_file, options.copies)
    with open_session(session, "becalm suite") as opened:
        settings = [_settings(suite_file, name, session.settings) for name in names]
        # The number of copies depends on the applied settings, some of which a machine may lack.
        asked_for = session.study("suite", (), options, settings)
        fitted = opened.fitted(asked_for)
        number = options.copies or suite_file.copies or _processors(opened.host, fitted) if rates else None
        workloads = _workloads(suite_file, names, number)
        options = dataclasses.replace(
            options,
            suite=suite_file.name,
            tunings=names,
            copies=number,
            programs=tuple(program.workload.name for program in suite_file.programs),
            references_ns=tuple(program.reference_ns for program in suite_file.programs),
            references=tuple(program.reference for program in suite_file.programs),
        )
        facts = {name: value for name, value in fitted.options.items() if asked_for.options.get(name) != value}
        study = replace(fitted, workloads=tuple(workloads), options={**options.to_json(), **facts})
        missing = define(opened.host, study.workloads, study.settings, session.listener, dangerous=session.dangerous)
        number = opened.begin(study)
        places = cells(len(names), len(suite_file.programs), options.copies)
        steps = [(index, cell.tuning) for index, cell in enumerate(places) if index not in missing]
        # Numbers of steps, of which each is one of the cells.
        alone = [step for step, (index, _) in enumerate(steps) if not places[index].together]
        rng = np.random.default_rng(study.seed)
        # When a program fails, the others are rated nevertheless.
        log = RunLog(goes_on=True)
        shown = names_of(workloads)
        session.listener.started(opened.shown, shown, StoppingRule(runs=options.runs))

        def plan(log: RunLog) -> Block | None:
            return rounds(log, steps, alone, options.runs, rng)

        loads: list[Load] = []

        def take(event: Event) -> None:
            opened.take(event)
            if isinstance(event, Loads):
                loads.extend(event.loads)

        measure(opened.host, plan, log, take, detail=opened.detail, stop_on_failure=False)
        opened.settle()
        note_missing(opened.store, number, log, missing)
        if not any(run.outcome == Outcome.OK and run.round >= 0 for run in log.rows):
            raise nothing_measured(log.rows, workloads, opened.store.texts(number))
        return conclude(study, log.rows, opened.shown, loads)


def conclude(study: Study, rows: Sequence[Run], number: int | None, loads: Sequence[Load] = ()) -> Ratings:
    """Return the ratings of a suite from its runs so far and from the recorded loads."""
    options = SuiteOptions.from_json(study.options)
    result = ratings(options, study.settings, rows, loads, workloads=study.workloads, study=number, host=study.host)
    result = replace(result, standing=options.standing.to_json(), emulated=options.emulated)
    return replace(result, sentence=concluding(result))


def conclude_stored(document: Document) -> Ratings | Verdict:
    """Return the ratings of a stored suite, or a summary where its parts are missing.

    Raises UnfinishedError without a finished round.
    """
    if not SuiteOptions.from_json(document.study.options).programs:
        return summarise_stored(document)
    if not any(run.round >= 0 for run in document.runs):
        raise UnfinishedError("The study has no finished round: becalm was ended before anything was counted.")
    return conclude(document.study, document.runs, document.number, document.loads)


def _tunings(suite: Suite, tuning: str | None, file: str) -> tuple[str, ...]:
    if tuning == "peak" and not suite.has_peak:
        raise UsageError(
            f"{file} does not define peak. Give it a table [peak] with settings, or a program a line peak_command = …"
        )
    if tuning is not None:
        return (tuning,)
    return TUNINGS if suite.has_peak else TUNINGS[:1]


def _printing(suite: Suite, copies: int | None) -> bool:
    """Return whether a program is rated by a metric, which rules out rates. Raises UsageError with --copies."""
    printing = [program.workload.name for program in suite.programs if program.workload.metrics]
    if printing and copies is not None:
        raise UsageError(
            f"--copies is for the rate, which is of times, and {printing[0]} is rated by what it prints. Leave one out."
        )
    return bool(printing)


def _processors(host: Host, study: Study) -> int:
    """Return the number of processors that programs may use on a machine under the settings of a study, or that becalm
    may use where the host does not tell: the largest of several tunings, since all have the same number of copies."""
    cpu = host.facts().get("cpu") or {}
    allowed = int(cpu.get("allowed_count") or len(os.sched_getaffinity(0)))
    # Only root puts programs on CPUs that are kept free until `reset`.
    kept_settings = study.options.get("standing") if host.abilities().get(Ability.MACHINE_SETTINGS) else None
    return max(
        min(allowed, _own({**(kept_settings or {}), **setting.to_json()}, cpu, allowed)) for setting in study.settings
    )


def _own(on: Mapping[str, Json], cpu: Mapping[str, Any], allowed: int) -> int:
    """Return the number of processors that settings leave to a program, where they name them."""
    for value in (on.get(name) for name in ("cpus", "isolation")):
        if value in CORES:
            return int(cpu.get("threads_per_core") or 1)
        if value not in (None, "none"):
            return len(cpu_list(str(value)))
    return allowed


def _workloads(suite: Suite, names: Sequence[str], copies: int | None) -> list[Workload]:
    workloads: list[Workload] = []
    for cell in cells(len(names), len(suite.programs), copies):
        name, number = names[cell.tuning], copies or 1
        workload = _chosen(suite.programs[cell.program], name)
        mark = f" ({name}, {counted(number)})" if cell.together else f" ({name})"
        shown = workload.name + (mark if cell.together or len(names) > 1 else "")
        workloads.append(dataclasses.replace(workload, name=shown, copies=number if cell.together else 1))
    return workloads


def _chosen(listed: Listed, name: str) -> Workload:
    return listed.peak if name == "peak" else listed.workload


def _settings(suite: Suite, name: str, settings: Settings) -> Settings:
    own = suite.peak if name == "peak" and suite.peak is not None else suite.base
    return Settings.of({**dict(own.values), **dict(settings.values)})
