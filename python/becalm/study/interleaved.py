"""Measure programs in randomly ordered rounds: what `run` and `compare` share, from the session to the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from becalm.analysis.limit import gate
from becalm.errors import Interrupted, MachineError, UsageError, WorkloadError
from becalm.hosts import Event, Host
from becalm.nouns.finding import Finding
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.nouns.study import Study
from becalm.results.compare import Difference, Gate, Stopped, Verdict
from becalm.results.progress import Progress
from becalm.results.where import Where
from becalm.study.available_metrics import without_unmeasurable
from becalm.study.conclude import conclude, failure, interim
from becalm.study.looks import Looks
from becalm.study.measure import measure
from becalm.study.missing_programs import define, findings
from becalm.study.session import StudySession, open_session
from becalm.study.session_options import SessionOptions
from becalm.study.study_data import StoredData
from becalm.wording import compare
from becalm.wording.findings import finding

Baseline = Callable[[Looks], Sequence[Difference]]
"""A function that compares the measured programs with stored runs."""


def measure_interleaved(
    study: Study, options: RunOptions, session: SessionOptions, baseline: Baseline | None = None
) -> Verdict:
    """Measure the study's programs and conclude. Raises BecalmError; everything finished is stored by then."""
    if options.drop_contaminated is not None and not session.load:
        raise UsageError("--drop-contaminated needs the record of load. Leave --no-load out.")
    if options.unknown_contamination == "drop" and options.drop_contaminated is None:
        raise UsageError("--unknown-contamination needs --drop-contaminated RULE.")
    listener = session.listener
    if isinstance(options, CompareOptions) and options.where:
        from becalm.study.where import check_where  # Most comparisons start without it.

        check_where(study.workloads, study.host)

    def take(event: Event) -> None:
        opened.take(event)
        if session.load:
            looks.take(event)

    with open_session(session, f"becalm {study.kind}") as opened:
        study = opened.fitted(study)
        study, counter = _with_counter(study, opened.host, session)
        study, left_out = without_unmeasurable(opened.host, study, listener, dangerous=session.dangerous)
        # Programs are paired with a stored baseline by position, so none of them may be left out.
        least = len(study.workloads) if baseline else min(2, len(study.workloads))
        missing = define(
            opened.host, study.workloads, study.settings, listener, dangerous=session.dangerous, least=least
        )
        planned = study
        if missing:
            there = [program for index, program in enumerate(study.workloads) if index not in missing]
            study = replace(study, workloads=tuple(there))
            opened.host.define(study.workloads, study.settings, dangerous=session.dangerous)
        if isinstance(options, CompareOptions):
            study = _with_schedule(study, opened.host)
        looks = Looks(study, type(options).from_json(study.options))
        number = opened.begin(study)
        looks.looked = lambda seen: listener.progressed(_progress(seen, opened.shown))
        listener.started(opened.shown, looks.names, options.goal)
        try:
            measure(opened.host, looks.plan, looks.history, take, detail=opened.detail)
        except MachineError as error:
            error.append(compare.kept(opened.shown, looks.history.rounds))
            raise
        where, unprofiled = None, tuple[Finding, ...]()
        if isinstance(options, CompareOptions) and options.where:
            where, unprofiled = _where(looks, opened, session)
        opened.settle()
        store = StoredData(opened.store, number)
        if looks.history.rounds == 0:
            raise no_rounds_error(looks, store)
        verdict = conclude(looks, store, opened.shown, baseline(looks) if baseline else (), opened.noticed)
        from becalm.study.circumstances import circumstances  # Measuring starts without it.

        when_ns = opened.store.began_ns(number)
        verdict = replace(verdict, circumstances=circumstances(study, opened.facts, when_ns))
        verdict = replace(verdict, where=where)
        left_out = (*findings(planned.workloads, missing), *left_out)
        verdict = replace(verdict, findings=(*left_out, *counter, *unprofiled, *verdict.findings))
        if missing:
            verdict = replace(verdict, stopped=Stopped.FAILED)
        opened.store.conclude(number, verdict.to_json())
    listener.ended(verdict)
    return verdict


def _where(looks: Looks, opened: StudySession, session: SessionOptions) -> tuple[Where | None, tuple[Finding, ...]]:
    """Return the functions in which the two programs differ, or a finding on why they could not be profiled.

    Returns neither after a failure or an interruption, or where the limit of a check is met.
    """
    history = looks.history
    if history.failure is not None or history.interrupted or len(looks.study.workloads) < 2:
        return None, ()
    looks.end()
    if gate(looks.comparison.differences, looks.comparison.fail_above) is Gate.WITHIN:
        return None, ()
    from becalm.study.where import locate  # Most comparisons start without it.

    session.listener.warned("Profiling both programs, to find the functions in which they differ.")
    try:
        return locate(
            opened.host, looks.study, first=history.next_seq, elapsed_ns=history.elapsed_ns, user=session.user
        ), ()
    except (MachineError, WorkloadError) as error:
        numbers = {"reason": str(error).rstrip("."), "entries": [["--where", 1]], "of": "the report"}
        return None, (finding("left_out", numbers),)


def _with_counter(study: Study, host: Host, session: SessionOptions) -> tuple[Study, Sequence[Finding]]:
    """Return the study with the host's counter of instructions, where they are a metric."""
    if not any(workload.metrics for workload in study.workloads):
        return study, ()
    from becalm.study.exact_counts import with_counter  # A comparison of times starts without it.

    return with_counter(host, study, dangerous=session.dangerous)


def _with_schedule(study: Study, host: Host) -> Study:
    """Return the study with the two CPUs of programs that may run at the same time, or with turns as its schedule."""
    options = CompareOptions.from_json(study.options)
    if study.kind != "compare" or options.schedule == "turns":
        return study
    from becalm.study.scheduling import choose_schedule  # Programs that take turns start without it.

    return replace(study, options=choose_schedule(study, options, host.facts()).to_json())


def _progress(seen: Looks, number: int | None) -> Progress:
    history = seen.history
    fraction = seen.options.goal.fraction(history)
    return Progress(history.elapsed_ns, history.rounds, history.next_seq, fraction, interim(seen, number))


def no_rounds_error(looks: Looks, store: StoredData) -> WorkloadError | MachineError:
    """Return the error for a study without a round that counts."""
    looks.look_at_load()
    if looks.history.failure is not None:
        return WorkloadError(failure(looks, looks.history.failure, store).sentence)
    if looks.history.complete:
        if looks.unknown and looks.options.unknown_contamination == "drop":
            return MachineError(
                f"No round of {looks.history.complete} is left: it is not known whether {len(looks.unknown)} of them "
                f"were contaminated by the rule {looks.rule.text}, and any others were contaminated. "
                "--unknown-contamination keep counts the unknown ones."
            )
        return MachineError(
            f"All {looks.history.complete} rounds were contaminated by the rule {looks.rule.text}, so none counts. "
            "Measure when the machine is quieter, or with another rule."
        )
    return Interrupted("Interrupted before the first round was finished: there is no result yet.")
