"""`becalm check`: whether a change makes anything slower, by two builds in turn or by stored results.

It uses `compare` and `compare_stored`: each benchmark is a study of its own, and all intervals hold together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

import msgspec

from becalm.errors import UsageError
from becalm.nouns.metric import Response, Work
from becalm.nouns.option import options
from becalm.nouns.options.check import CheckOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.results.check import Checked, CheckResult, together
from becalm.results.compare import Gate, Stopped, Verdict
from becalm.results.compare_stored import StoredComparison
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.verbs.compare import compare
from becalm.verbs.compare_stored import compare_stored
from becalm.wording import check as words
from becalm.wording.program_names import visible_name
from becalm.workloads import gather, several
from becalm.workloads.program_options import ProgramOptions

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords
    from becalm.verbs.keywords import CheckKeywords

BUILD = "{build}"
"""The placeholder for the directory of a build in a command."""

STORED = ("more_old", "more_new", "shift")
"""The options that only apply to stored results."""

CONDITIONS = ("settings", "emulated", "turns")
"""Findings about conditions common to all benchmarks, which are reported once."""

OWN_CONDITIONS = ("alongside",)
"""Findings about conditions of single benchmarks, which are reported with their names."""


class _Pair(msgspec.Struct, frozen=True):
    """A benchmark before and after a change."""

    name: str
    old: str | Workload
    new: str | Workload


@takes(CheckOptions, Response, Work, CommandLine, Workload, WithProfile, SessionOptions, without=("name",))
def check(commands: Sequence[str], *, stored: bool = False, **keywords: Unpack[CheckKeywords]) -> CheckResult:
    """Check whether a change makes benchmarks slower than a limit.

    Arguments:
        commands: the old and the new command line; with `old_build` and `new_build` any number of command lines with
            {build} in them, each of which is compared between the two builds; with `stored` two sources, as in
            `compare_stored`. A source that names several programs, such as "google-benchmark:old/bench", is one
            benchmark for each name that both builds have.
        stored: compare stored results, without measuring.

    `budget` is for each benchmark. Raises UsageError, WorkloadError (a program cannot be run at all), MachineError,
    StoreError.
    """
    check_options, session, program = split_keywords(CheckOptions, keywords, WithProfile, Response, Work)
    if stored:
        return words.worded(_stored(list(commands), check_options, session, cast(dict[str, Any], keywords)))
    if other := [name for name in STORED if keywords.get(name)]:
        raise UsageError(
            f"--{other[0].replace('_', '-')} belongs to --stored, which compares what was measured before."
        )
    pairs, missing = _opened(_pairs(list(commands), check_options), session.user, program)
    alpha = simultaneous_alpha(1 - check_options.confidence, len(pairs))
    own = set(options(CheckOptions))
    passed: Any = {name: value for name, value in keywords.items() if name not in own}
    checks, failed, conditions = [], False, dict[str, None]()
    for pair in pairs:
        verdict = compare(
            [pair.old, pair.new],
            names=[f"{pair.name} (old)", f"{pair.name} (new)"],
            fail_above=check_options.fail_above,
            undecided=check_options.undecided,
            where=check_options.where,
            confidence=1 - alpha,
            budget="none" if check_options.budget_ns is None else check_options.budget_ns / 1e9,
            schedule=check_options.schedule,
            **passed,
        )
        failed = failed or verdict.stopped is Stopped.FAILED
        checks.append(_checked(pair, verdict))
        conditions |= dict.fromkeys(_conditions(pair, verdict))
        if verdict.stopped is Stopped.INTERRUPTED:
            break
    names = [visible_name(pair.name) for pair in pairs]
    checks += [Checked(name, Gate.UNDECIDED, failure="not measured") for name in names[len(checks) :]]
    return words.worded(
        CheckResult(
            tuple(checks),
            check_options.fail_above,
            check_options.confidence,
            check_options.undecided,
            together(tuple(checks)),
            basis=" ".join(conditions),
            failed=failed,
            missing=missing,
        )
    )


def _pairs(commands: list[str], check_options: CheckOptions) -> list[_Pair]:
    """Return the pairs of programs to compare. Raises UsageError."""
    if (check_options.old_build is None) != (check_options.new_build is None):
        raise UsageError("--old-build and --new-build belong together: they are what {build} stands for.")
    if check_options.old_build is None or check_options.new_build is None:
        if len(commands) != 2:
            raise UsageError(
                "A check takes the old and the new command: becalm check './old/prog x' './new/prog x'. For several "
                "benchmarks: becalm check --old-build old --new-build new '{build}/prog x' '{build}/prog y'"
            )
        return [_Pair(commands[1], *commands)]
    if not commands:
        raise UsageError("Which benchmarks? For example: becalm check --old-build old --new-build new '{build}/prog x'")
    if without := [command for command in commands if BUILD not in command]:
        raise UsageError(f"{without[0]!r} has no {BUILD}, so it is the same before and after the change. Write it in.")
    names = [command.replace(f"{BUILD}/", "").replace(BUILD, "") for command in commands]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"Two benchmarks are called {twice[0]!r}. Leave one out.")
    return [
        _Pair(name.strip(), text.replace(BUILD, check_options.old_build), text.replace(BUILD, check_options.new_build))
        for name, text in zip(names, commands, strict=True)
    ]


def _opened(pairs: list[_Pair], user: str | None, program: ProgramKeywords) -> tuple[list[_Pair], tuple[str, ...]]:
    """Return pairs of benchmarks that both builds have, by name, and the names that one of them lacks.

    Raises UsageError."""
    opened: list[_Pair] = []
    missing: list[str] = []
    for pair in pairs:
        if not (several(pair.old) and several(pair.new)):
            opened.append(pair)
            continue
        before, after = (
            {workload.name: workload for workload in gather([text], ProgramOptions.of(user, program))}
            for text in (pair.old, pair.new)
        )
        opened += [_Pair(name, before[name], workload) for name, workload in after.items() if name in before]
        missing += [f"{name} (gone)" for name in before if name not in after]
        missing += [f"{name} (new)" for name in after if name not in before]
    if not opened:
        raise UsageError(f"The two builds have no benchmark in common: {', '.join(missing)}.")
    names = [pair.name for pair in opened if isinstance(pair.new, Workload)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"Two benchmarks are called {twice[0]!r}. Leave one out.")
    return opened, tuple(missing)


def _conditions(pair: _Pair, verdict: Verdict) -> list[str]:
    """Return the sentences on the conditions under which a benchmark was measured."""
    shared = [finding.sentence for finding in verdict.findings if finding.kind in CONDITIONS]
    own = [finding.sentence for finding in verdict.findings if finding.kind in OWN_CONDITIONS]
    return shared + [f"{visible_name(pair.name)}: {sentence}" for sentence in own]


def _checked(pair: _Pair, verdict: Verdict) -> Checked:
    difference = verdict.differences[0] if verdict.differences else None
    failure = ""
    if verdict.stopped is Stopped.FAILED:
        failure = next(
            (finding.sentence for finding in verdict.findings if finding.kind == "failure"), "a program failed"
        )
    # The runs of a program before its failure prove nothing about the whole.
    gate = Gate.UNDECIDED if failure or verdict.gate is None else verdict.gate
    typical = [words.typical(summary) for summary in verdict.summaries]
    old, new = typical if len(typical) == 2 else ("", "")
    return Checked(visible_name(pair.name), gate, difference, old, new, failure, verdict.study, verdict.where)


def _stored(
    sources: list[str], check_options: CheckOptions, session: SessionOptions, keywords: dict[str, Any]
) -> CheckResult:
    """Return the check of stored results."""
    if len(sources) != 2:
        raise UsageError("--stored takes the old and the new: becalm check --stored old.json new.json")
    known = {*options(CheckOptions)} - {"old_build", "new_build", "budget", "schedule", "where"}
    if other := [
        name for name in keywords if name not in {*known, "listener", "store"} and keywords[name] not in (None, ())
    ]:
        raise UsageError(
            f"--{other[0].replace('_', '-')} is for programs that are measured; with --stored nothing is. Leave it out."
        )
    chosen: Any = {name: value for name, value in keywords.items() if name in known}
    comparison: StoredComparison = compare_stored(
        sources[0],
        sources[1],
        warned=session.listener.warned,
        store=session.place,
        **{**chosen, "fail_above": check_options.fail_above},
    )
    checks = tuple(words.of_stored(benchmark, comparison) for benchmark in comparison.benchmarks)
    checks += tuple(
        Checked(name, Gate.UNDECIDED, failure=f"was {old} and is {new} now") for name, old, new in comparison.units
    )
    checks += tuple(Checked(name, Gate.UNDECIDED, failure=why) for name, why in comparison.unusable)
    return CheckResult(
        checks,
        check_options.fail_above,
        check_options.confidence,
        check_options.undecided,
        together(checks),
        basis=words.basis(comparison),
        findings=comparison.findings,
        missing=(*(f"{name} (gone)" for name in comparison.gone), *(f"{name} (new)" for name in comparison.added)),
    )
