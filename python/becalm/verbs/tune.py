"""`becalm tune`: find the settings under which programs vary least, confirm them, and estimate each one's effect.

`tune` checks the options and opens what a study needs; `becalm.study.tune` runs the study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from becalm import workloads as sources
from becalm.errors import UsageError
from becalm.hosts import Ability, Host
from becalm.methods import check, complete
from becalm.methods.protocol import NO_SETTINGS
from becalm.nouns.excluded import Excluded
from becalm.nouns.metric import Response, Work
from becalm.nouns.options.tune import Allowed, TuneOptions, refuse_unused, with_source_metric
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.results.multi_host import MultiHostVerdict
from becalm.results.tune import TuneVerdict
from becalm.results.tune_arms import BASELINE, RECOMMENDED, TUNED, WITHOUT
from becalm.results.tune_cost import TuneCost
from becalm.store import Store
from becalm.study.confirmation_schedule import schedule_confirmation
from becalm.study.pilot import pilot_runs, responses, wall_times
from becalm.study.probe import Tried, probe_factors, probe_space, supported_trials
from becalm.study.session import StudySession, open_session
from becalm.study.session_options import SessionOptions, SeveralHosts, split_keywords
from becalm.study.settings_profile import describe_machine, find_profile, machine_of
from becalm.study.stored import tell_damaged
from becalm.study.tune import measure_tune
from becalm.study.tune_transfer import tune_on_hosts
from becalm.tuning.candidates import SearchLimits
from becalm.tuning.cost import cost
from becalm.tuning.course import Course
from becalm.wording.numbers import duration

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords
    from becalm.verbs.keywords import TuneCostKeywords, TuneKeywords


Programs = Sequence[str | Iterable[str] | Workload]


@overload
def tune(
    programs: Programs = (), *, resume: int | str | None = None, **options: Unpack[TuneKeywords]
) -> TuneVerdict: ...
@overload
def tune(
    programs: Programs = (),
    *,
    hosts: Sequence[str | Host],
    cluster: str | None = None,
    **options: Unpack[TuneKeywords],
) -> MultiHostVerdict: ...
@overload
def tune(
    programs: Programs = (),
    *,
    hosts: Sequence[str | Host] | None = None,
    cluster: str,
    **options: Unpack[TuneKeywords],
) -> MultiHostVerdict: ...
@takes(SeveralHosts, TuneOptions, Response, Work, CommandLine, Workload, SessionOptions, without=("settings",))
def tune(
    programs: Programs = (),
    *,
    resume: int | str | None = None,
    hosts: Sequence[str | Host] | None = None,
    cluster: str | None = None,
    **keywords: Any,
) -> TuneVerdict | MultiHostVerdict:
    """Find settings under which programs vary least, and confirm them on fresh runs.

    Arguments:
        programs: command lines, argument lists, Workloads, or other sources (docs/how-to/sources.md). The settings are
            for all of them together.
        resume: number of an interrupted study (or "last"), which is continued.

    Returns a TuneVerdict; with `hosts` or `cluster` a MultiHostVerdict: the first host is searched, and its
    recommendation is tried on each other one; with `tried` all hosts try those settings.

    Raises UsageError, WorkloadError when a program fails on the machine as it is, MachineError when something on the
    machine could not be restored, Interrupted when stopped before the end.
    """
    for name, instead in ELSEWHERE.items():
        if name in keywords:
            raise UsageError(f"tune has no option {name!r}. Did you mean {instead!r}?")
    if resume is not None and (unheeded := [name for name in keywords if name not in WHILE_RESUMING]):
        raise UsageError(
            f"A study that is resumed has its own options: leave out {unheeded[0]!r}. It may have "
            f"{', '.join(WHILE_RESUMING)}."
        )
    refuse_unused(keywords)
    options, session, program = split_keywords(TuneOptions, keywords, Response, Work)
    response, work = Response.of(keywords), Work.of(keywords)
    options = complete(options)
    several = hosts is not None or cluster is not None
    if resume is not None:
        if several:
            raise UsageError("A resumed study has its own host: leave out --host, and --try the result on others.")
        if programs:
            raise UsageError("A resumed study has its own programs: leave them out.")
        return _resume(resume, session)

    def measure(chosen: TuneOptions, where: SessionOptions) -> TuneVerdict:
        workloads = _workloads(programs, where, program, response, work)
        return _measure(workloads, with_source_metric(chosen, keywords, workloads), where)

    if not several:
        return measure(options, session)
    return tune_on_hosts(hosts or (), cluster, options, session, measure)


def _workloads(
    programs: Programs, session: SessionOptions, program: ProgramKeywords, response: Response, work: Work
) -> list[Workload]:
    """Return the programs, with their metrics and work."""
    workloads = sources.open(list(programs), user=session.user, **program)
    return [workload.measuring(response, work) for workload in workloads]


def _measure(workloads: Sequence[Workload], options: TuneOptions, session: SessionOptions) -> TuneVerdict:
    tried = _tried(options.tried, session)
    with open_session(session, _title(workloads)) as opened:
        options, kernel, pilots, good = _prepared(opened, options, workloads, tried)
        study = session.study("tune", (*workloads, kernel) if kernel else workloads, options, [NO_SETTINGS])
        opened.begin(study, pilots)
        course = Course(study, options, settings=[NO_SETTINGS])
        course.trials.extend(pilots)
        # For a program that fails, the coming error is more precise.
        expected = _cost(options, course.names, pilots, study.seed).sentence if good else ""
        return measure_tune(opened, course, expected)


def _prepared(
    opened: StudySession, options: TuneOptions, programs: Sequence[Workload], tried: Tried, *, alone: bool = False
) -> tuple[TuneOptions, Workload | None, list[Run], bool]:
    """Return the options with what the host permits, the built-in kernel, pilot runs, and whether none of these failed.

    Where the programs are `alone`, with no study after them, each has several pilot runs.
    """
    kernel, pilots, good = pilot_runs(opened, programs, several=options.minimize == "time", alone=alone)
    _refuse_short(options, programs, pilots)
    options = schedule_confirmation(options, programs, pilots, opened.host.facts())
    options = replace(
        options,
        user=opened.measuring.user,
        emulated=opened.emulated(),
        dangerous=opened.measuring.dangerous,
        allow_reboot=opened.measuring.allow_reboot,
        allowed=_allowed(opened, options, programs, tried, kernel),
    )
    if not tried and (options.minimize == "time" or not options.factors):
        check(options)
    return options, kernel, pilots, good


@takes(TuneOptions, Response, Work, CommandLine, Workload, SessionOptions, without=("settings", "store"))
def tune_cost(programs: Programs = (), **keywords: Unpack[TuneCostKeywords]) -> TuneCost:
    """Return the cost of `tune` with these options: how many runs, how long, and the smallest effect it would find.

    Makes a few pilot runs of the programs and tries once whether settings can be applied; stores nothing.

    Raises UsageError and WorkloadError as `tune`.
    """
    refuse_unused(keywords)
    options, session, program = split_keywords(TuneOptions, dict(keywords), Response, Work)
    options = complete(options)
    workloads = _workloads(programs, session, program, Response.of(keywords), Work.of(keywords))
    options = with_source_metric(options, keywords, workloads)
    tried = _tried(options.tried, session)
    with open_session(replace(session, store=False), _title(workloads)) as opened:
        options, _, pilots, _ = _prepared(opened, options, workloads, tried, alone=True)
        return _cost(options, [workload.name for workload in workloads], pilots, session.seed or 0)


def _cost(options: TuneOptions, names: Sequence[str], pilots: Sequence[Run], seed: int) -> TuneCost:
    return cost(options, names, wall_times(pilots, len(names)), seed, responses(pilots, len(names)))


def _allowed(
    opened: StudySession, options: TuneOptions, programs: Sequence[Workload], tried: Tried, kernel: Workload | None
) -> Allowed:
    """Return the settings that the host permits, determined before hours of measuring."""
    rows, able = opened.host.knobs(), opened.host.abilities()
    limits = SearchLimits(
        only=options.only,
        without=options.without,
        consent=opened.measuring.dangerous,
        preserve_multicore=options.preserve_multicore,
        privileged=bool(able[Ability.MACHINE_SETTINGS]),
        reboots=bool(able[Ability.REBOOT]),
        stays=able[Ability.REBOOT].reason,
    )
    probe = None if options.tried else kernel
    partial: dict[str, list[str]] = {}
    if (options.minimize == "time" or options.factors) and not options.tried:
        space, excluded = probe_factors(opened, limits, rows, options.factors, probe)
        if not space.factors:
            raise UsageError(
                "There is nothing to vary here: this host lets no setting be changed that has a range or choices. "
                f"{_least_of(excluded)}"
            )
    else:
        space, excluded, partial = probe_space(opened, limits, rows, probe, compare_profiles=options.compare_profiles)
    if tried:
        tried, excluded = supported_trials(tried, rows, programs, opened)
    at_boot = {exclusion.knob for exclusion in excluded if exclusion.reason == limits.stays}
    return Allowed(
        space=space,
        excluded=excluded,
        tried=tried,
        partial={name: tuple(knobs) for name, knobs in partial.items()},
        boot_ns=opened.host.boot_ns or 0,
        lost={row.name: row.rationale for row in rows if row.name in at_boot},
        privileged=limits.privileged,
    )


def _refuse_short(options: TuneOptions, programs: Sequence[Workload], pilots: Sequence[Run]) -> None:
    """Raise UsageError for a time limit of the runs that the machine as it is would exceed."""
    limit_ns = 0 if options.abort_above is None else options.abort_above.ns
    for program, times in zip(programs, wall_times(pilots, len(programs)), strict=True):
        if limit_ns and len(times) and (least := float(times.min())) >= limit_ns:
            raise UsageError(
                f"--abort-above {duration(limit_ns)} would end every run: {program.name} takes {duration(least)} on "
                "the machine as it is. Give it more, or name a factor: 3x."
            )


def _least_of(excluded: Sequence[Excluded]) -> str:
    """Return the reasons why settings are left out, the most frequent first."""
    reasons = Counter(exclusion.reason for exclusion in excluded).most_common(2)
    return "; ".join(f"{count} of them: {reason}" for reason, count in reasons) + ("." if reasons else "")


WHILE_RESUMING = ("sudo", "root", "store", "user", "listener")
"""Options that go with `resume`; the study has its own programs, settings and method."""

ELSEWHERE = {"settings": "only", "warmup": "warmups", "precision": "budget"}
"""Options of `becalm.run` without a meaning here, and the nearest options of `tune`."""


def _title(programs: Sequence[Workload]) -> str:
    return f"becalm tune -- {', '.join(program.name for program in programs)}"[:200]


def _tried(references: Sequence[str], session: SessionOptions) -> Tried:
    """Return the settings to try, with distinct names."""
    result: dict[str, Settings] = {}
    for reference in references:
        profile = find_profile(reference, store=session.place)
        reserved = profile.name in (*result, BASELINE, TUNED, RECOMMENDED) or profile.name.startswith(WITHOUT)
        result[f"{profile.name} ({reference})" if reserved else profile.name] = profile.settings
    return tuple(result.items())


def _resume(reference: int | str, session: SessionOptions) -> TuneVerdict:
    """Continue a study that was stopped: first use its runs, then measure."""
    with Store.open(session.place) as store:
        if str(reference) == "last":
            newest = store.studies(limit=1, kind="tune")
            reference = newest[0].number if newest else "last"
        stored = store.study(store.resolve(reference))
        finished = store.verdict(stored.number) is not None
    study = stored.study
    if study.kind != "tune":
        raise UsageError(f"Study {stored.number} is not a tune study. `becalm list --kind tune` shows those.")
    if finished:
        raise UsageError(f"Study {stored.number} is finished. `becalm show {stored.number}` shows what it found.")
    options = TuneOptions.from_json(study.options)
    session = replace(
        session,
        host=study.host,
        dangerous=options.dangerous,
        user=session.user or options.user,
        allow_reboot=options.allow_reboot,
    )
    with open_session(session, _title(study.workloads)) as opened:
        if options.allowed.privileged and not opened.host.abilities()[Ability.MACHINE_SETTINGS]:
            raise UsageError(
                f"Study {stored.number} changes settings of the machine. Continue it with: "
                f"becalm tune --sudo --resume {stored.number}"
            )
        begun, here = machine_of(stored.facts), machine_of(opened.host.facts())
        if begun != here:
            session.listener.warned(
                f"Study {stored.number} was begun on {describe_machine(begun)}; this is {describe_machine(here)}: "
                "the runs of both are compared with each other."
            )
        runs = list(opened.store.runs(stored.number))
        tell_damaged(opened.store, stored.number, session.listener.warned)
        opened.resume(stored, runs)
        course = Course(study, options, settings=list(study.settings))
        course.trials.extend(runs)
        return measure_tune(opened, course)
