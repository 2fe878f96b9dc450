"""`becalm watch -- COMMAND`: one run of a program, and the load of the machine meanwhile.

The run is measured and stored like any other, as a study of the kind "watch", with its load and the load over time;
the report is computed from the stored data, so that `show` gives the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from becalm.errors import Interrupted, UnfinishedError, UsageError
from becalm.hosts import Event, LoadDetail, Loads
from becalm.load.covered import loaded
from becalm.load.cpu_competition import circumstances
from becalm.load.others import Others
from becalm.load.record import Load, Series
from becalm.load.run_report import Watched, plain_reference, watched
from becalm.load.time_accounting import Times, middle
from becalm.load.time_accounting import of as times_of
from becalm.nouns.codec import plain_dict
from becalm.nouns.options.watch import WatchOptions, WatchReference
from becalm.nouns.run import Outcome, Run
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.plans.once import once
from becalm.plans.run_log import RunLog
from becalm.report.document import Document
from becalm.study.measure import measure
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.study.stored import stored_or_file
from becalm.units import duration_ns
from becalm.wording import watch as sentences
from becalm.wording.program_names import names_of
from becalm.workloads import refuse_source

if TYPE_CHECKING:
    from becalm.verbs.keywords import WatchKeywords


@takes(WatchReference, CommandLine, Workload, WithProfile, SessionOptions, output="inherit")
def watch(command: str | Iterable[str] | Workload, **keywords: Unpack[WatchKeywords]) -> Watched:
    """Run a program once and report what delayed it.

    Arguments:
        command: as for `becalm.run`.

    A program that fails is watched nevertheless: `Watched.run` has its outcome. Raises UsageError, WorkloadError (it
    cannot be run), MachineError, StoreError.
    """
    options, session, program = split_keywords(
        WatchOptions, {"output": "inherit", **keywords}, WatchReference, WithProfile
    )
    refuse_source(command)
    workload = Workload.of(command, **program)
    reference = WatchReference.of(keywords).reference
    if reference is not None:
        options = dataclasses.replace(options, unloaded=_unloaded(reference, workload, session))
    study = session.study("watch", [workload], options)
    with open_session(session, "becalm watch") as opened:
        log, loads, series, others = RunLog(), list[Load](), list[Series](), list[Others]()

        def take(event: Event) -> None:
            opened.take(event)
            if isinstance(event, Loads):
                loads.extend(event.loads)
                series.extend(event.series)
                others.extend(event.others)

        with opened.counting_delays(opened.fitted(study)) as study:
            opened.host.define(study.workloads, study.settings, dangerous=session.dangerous)
            number = opened.begin(study)
            measure(opened.host, once, log, take, detail=LoadDetail.SERIES if session.load else LoadDetail.NONE)
        opened.settle()
        if not log.rows:
            raise Interrupted("Interrupted before the program was started: there is nothing to report.")
        facts = opened.host.facts()
        document = Document(
            study,
            log.rows,
            facts=facts,
            number=opened.shown,
            loads=tuple(loads),
            series=tuple(series),
            others=tuple(others),
        )
        result = conclude(document)
        opened.store.conclude(number, result.to_json())
    return result


def conclude(document: Document) -> Watched:
    """Return the result of a watched run, new or stored. Raises UnfinishedError when the study has none."""
    if not document.runs:
        raise UnfinishedError("The study has no finished run: becalm was ended before the program was.")
    run = document.runs[0]
    load = next((load for load in document.loads if load.first <= run.seq <= load.last), None)
    series = next(
        (load_series for load_series in document.series if load_series.first <= run.seq <= load_series.last), None
    )
    options = WatchOptions.from_json(document.study.options)
    settings = document.study.settings[run.settings]
    result = watched(
        run,
        load,
        series,
        circumstances(load, settings, document.facts),
        reference=_reference(options.unloaded, run),
        program=names_of([document.study.workloads[run.workload]])[0],
        host=document.study.host,
        study=document.number,
        others=document.others,
    )
    applied, standing = settings.to_json(), options.standing.to_json()
    result = replace(result, settings=applied, standing=standing, emulated=options.emulated)
    return replace(result, sentence=sentences.answer(result))


def _reference(stored: Mapping[str, Any] | None, run: Run) -> Times | None:
    """Return the reference that was stored with a study."""
    if stored is None:
        return None
    if set(stored) == {"wall_ns"}:
        return plain_reference(int(stored["wall_ns"]), run)
    known = set(Times.__struct_fields__)
    return Times(**{name: value for name, value in stored.items() if name in known})


def _unloaded(reference: str | float, workload: Workload, session: SessionOptions) -> dict[str, Any]:
    """Return the reference in its stored form. Raises UsageError."""
    text = str(reference).strip()
    if not isinstance(reference, str) or not (text.isdecimal() or text == "last" or Path(text).is_file()):
        try:
            return {"wall_ns": duration_ns(reference)}
        except UsageError as error:
            if text[:1].isdigit():
                raise UsageError(f"--reference: {error}") from None
            raise UsageError(
                f"--reference {text!r} is neither a time with its unit (1.5s), nor a study (its number, or last), nor "
                "a file that becalm exported."
            ) from None
    document = stored_or_file(text, session.place, warned=session.listener.warned)
    times = middle(_times(document, _program(document, workload.name, text)))
    if times is None:
        raise UsageError(f"The reference {text} has no run that ended well.")
    return plain_dict(times)


def _program(document: Document, name: str, text: str) -> int:
    names = [workload.name for workload in document.study.workloads]
    if name in names:
        return names.index(name)
    if len(names) == 1:
        return 0
    raise UsageError(f"The reference {text} has no program {name!r}; it has {', '.join(map(repr, names))}.")


def _times(document: Document, program: int) -> list[Times]:
    """Return the times of the good runs of a program, with their loads where these cover no other runs."""
    good = [r for r in document.runs if r.outcome == Outcome.OK and not r.warmup and r.workload == program]
    result: list[Times] = []
    taken: set[int] = set()
    for load, mine in loaded(good, document.loads):
        result.append(times_of(mine, load))
        taken |= {run.seq for run in mine}
    return result + [times_of([run]) for run in good if run.seq not in taken]
