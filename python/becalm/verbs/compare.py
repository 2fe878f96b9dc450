"""`becalm compare`: which program is faster, by how much, and how small a difference could have been seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from becalm.analysis.compare import against_baseline
from becalm.analysis.compare_ranking import LEAST
from becalm.errors import UsageError
from becalm.hosts import Host
from becalm.nouns.metric import Metric, Response, Work
from becalm.nouns.options.measuring import ComparedPrograms, CompareOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload, shell_of, split
from becalm.plans.history import History
from becalm.results.compare import Difference, Verdict
from becalm.study.interleaved import measure_interleaved
from becalm.study.looks import Looks
from becalm.study.session_options import SessionOptions, SeveralHosts, WithProfile, split_keywords
from becalm.units import join_names
from becalm.wording.program_names import names_of
from becalm.workloads import Text, single
from becalm.workloads.parameters import around, before_each_run, expand, filled

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords
    from becalm.results.multi_host import MultiHostVerdict
    from becalm.study.baseline import Baseline
    from becalm.verbs.keywords import CompareKeywords


Commands = Text | Sequence[Text]


@overload
def compare(*commands: Commands, **options: Unpack[CompareKeywords]) -> Verdict: ...
@overload
def compare(
    *commands: Commands,
    hosts: Sequence[str | Host],
    cluster: str | None = None,
    **options: Unpack[CompareKeywords],
) -> MultiHostVerdict: ...
@overload
def compare(
    *commands: Commands,
    hosts: Sequence[str | Host] | None = None,
    cluster: str,
    **options: Unpack[CompareKeywords],
) -> MultiHostVerdict: ...
@takes(
    SeveralHosts,
    CompareOptions,
    ComparedPrograms,
    Response,
    Work,
    CommandLine,
    Workload,
    WithProfile,
    SessionOptions,
    without=("name",),
)
def compare(
    *commands: Commands, hosts: Sequence[str | Host] | None = None, cluster: str | None = None, **keywords: Any
) -> Verdict | MultiHostVerdict:
    """Compare programs with a reference by randomly ordered rounds.

    Arguments:
        commands: two or more command lines, argument lists, Workloads or functions, one by one or as one list of them;
            one is enough with `baseline` or `parameters`.

    Returns a Verdict with one Difference for each program but the reference; with `hosts` or `cluster` a
    MultiHostVerdict whose intervals, of all hosts, hold together at `confidence`. A host that fails does not stop the
    others. Stops as soon as the answer is known, at `precision` (half width of the widest interval), `runs` (rounds) or
    `budget`.

    Raises UsageError, WorkloadError (a program cannot be run or fails at once), MachineError, StoreError; with several
    hosts only if none has a result.
    """
    several = hosts is not None or cluster is not None
    options, session, program = split_keywords(CompareOptions, keywords, ComparedPrograms, WithProfile, Response, Work)
    compared, response, work = ComparedPrograms.of(keywords), Response.of(keywords), Work.of(keywords)
    workloads = programs_of(listed_apart(commands), compared, program)
    programs = [workload.measuring(response, work) for workload in workloads]
    metric = _metric(programs)
    if not programs or (len(programs) == 1 and options.baseline is None):
        raise UsageError(
            "Comparing needs two programs, for example: becalm compare 'gzip -1 -k -c FILE' 'gzip -9 -k -c FILE'. "
            "For one program use `becalm run`, or compare it with stored runs by --baseline."
        )
    options = replace(
        options,
        reference=_position(compared.reference or 0, programs),
        fastest=_fastest(options, compared, several, len(programs)),
    )
    options = replace(options, to_best=options.fastest is True and compared.reference is None)
    if several and options.baseline is not None:
        raise UsageError("--baseline belongs to one machine: its runs were made there. Name one --host.")
    stored = None
    if options.baseline is not None:
        from becalm.study.baseline import read_baseline  # Most comparisons start without it.

        stored = read_baseline(options.baseline, session.place, warned=session.listener.warned, metric=metric)
        for program_ in programs:
            # A program that cannot be compared is refused before anything is measured.
            stored.series_for(program_, alone=len(programs) == 1)

    def against(looks: Looks) -> tuple[Difference, ...]:
        assert stored is not None
        return _against(stored, programs, looks.history, options.confidence)

    def measure(chosen: CompareOptions, where: SessionOptions) -> Verdict:
        return measure_interleaved(
            where.study("compare", programs, chosen), chosen, where, against if stored is not None else None
        )

    if not several:
        return measure(options, session)
    from becalm.study.multi_host import measure_on  # One host starts without it.

    return measure_on(hosts or (), cluster, "compare", options, session, measure)


def listed_apart(commands: Sequence[Any]) -> list[Text]:
    """Return the programs of a call: its arguments, or the only argument if that is a list."""
    only = commands[0] if len(commands) == 1 else None
    if only is None or isinstance(only, (str, Workload)) or callable(only):
        return list(commands)
    if not isinstance(only, Iterable):
        raise UsageError(f"compare takes programs, for example compare('./old x', './new x'), not {only!r}.")
    return list(only)


def programs_of(
    commands: Sequence[Text],
    compared: ComparedPrograms,
    program: ProgramKeywords,
) -> list[Workload]:
    """Return the programs to compare: the commands, or their variants, with their names and prepare commands."""
    parameters = dict(compared.parameters)
    if parameters:
        variants = [command for command in commands if isinstance(command, str)]
        if len(variants) < len(commands):
            raise UsageError("Parameters stand in command lines: give the programs as text, with {name} in it.")
        elsewhere = [*before_each_run(program), *compared.prepares]
        workloads = expand(variants, parameters, make=lambda text: single(text, **program), elsewhere=elsewhere)
        workloads = [around(variant, program) for variant in workloads]
    else:
        workloads = [single(command, **program) for command in commands]
    if prepares := list(compared.prepares):
        if program.get("prepare") is not None:
            raise UsageError("prepare is one for all programs, prepares one for each. Leave one out.")
        own_prepares = _one_each(prepares, len(workloads), "prepare commands", "--prepare")
        shell = shell_of(program)
        workloads = [
            replace(workload, prepare=split(filled(text, workload), shell=shell))
            for workload, text in zip(workloads, own_prepares, strict=True)
        ]
    names = list(compared.names)
    if not names:
        return workloads
    # A single name that differs between the variants is a template; any other name belongs to one program.
    distinct = {filled(names[0], workload) for workload in workloads}
    if not (parameters and len(names) == 1 and len(distinct) == len(workloads)):
        names = _one_each(names, len(workloads), "names", "--name", alone=False)
    else:
        names = names * len(workloads)
    return [replace(workload, name=filled(name, workload)) for workload, name in zip(workloads, names, strict=True)]


def _one_each(values: list[str], programs: int, noun: str, flag: str, *, alone: bool = True) -> list[str]:
    """Return one value for each program; `alone`: whether a single value is for all of them. Raises UsageError."""
    if alone and len(values) == 1:
        return values * programs
    if len(values) != programs:
        raise UsageError(f"{programs} programs but {len(values)} {noun} were given. Give each program one {flag}.")
    return values


def _metric(programs: Sequence[Workload]) -> Metric | None:
    """Return the metric that is compared; None for the wall time. Raises UsageError for different metrics."""
    first = [program.metrics[0] if program.metrics else None for program in programs]
    kinds = {None if metric is None else (metric.name, metric.unit, metric.better) for metric in first}
    if len(kinds) > 1:
        names = join_names(sorted("wall time" if kind is None else kind[0] for kind in kinds))
        raise UsageError(f"Programs are compared by the same metric, and these have {names}. Name one by --metric.")
    return first[0] if first else None


def _against(
    stored: Baseline, programs: Sequence[Workload], history: History, confidence: float
) -> tuple[Difference, ...]:
    """Return the comparison of each program with its stored runs."""
    differences = []
    for index, name in enumerate(names_of(programs)):
        title, before = stored.series_for(programs[index], alone=len(programs) == 1)
        differences.append(against_baseline(name, title, history.response(index), before, confidence, history.metric))
    return tuple(differences)


def _fastest(options: CompareOptions, compared: ComparedPrograms, several: bool, programs: int) -> bool:
    """Return whether programs that cannot be the fastest leave later rounds. Raises UsageError."""
    others = [name for name in ("runs", "precision", "fail_above", "baseline") if getattr(options, name) is not None]
    others += ["several hosts"] if several else []
    others += ["schedule"] if options.schedule not in (None, "turns") else []
    if options.fastest is None:
        useful = bool(compared.parameters) and compared.reference is None
        return useful and not others and programs >= LEAST
    if options.fastest and others:
        option = others[0] if " " in others[0] else f"--{others[0].replace('_', '-')}"
        raise UsageError(
            f"--fastest leaves programs out, and {option} needs all of them in every round. Leave one out."
        )
    return options.fastest


def _position(reference: int | str, workloads: Sequence[Workload]) -> int:
    names = [workload.name for workload in workloads]
    if isinstance(reference, str):
        if reference in names:
            return names.index(reference)
        if not reference.isdigit():
            raise UsageError(f"There is no program called {reference!r}. Known: {', '.join(map(repr, names))}.")
        reference = int(reference)
    if not 0 <= reference < len(workloads):
        raise UsageError(f"--reference {reference} is not one of the {len(workloads)} programs, counted from 0.")
    return reference
