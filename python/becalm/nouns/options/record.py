"""The options of `record`: how often each benchmark is run, and which place in a project's history a session has.

`RecordOptions` is stored with a session; `HistoryPlaceOptions` can set its place in the history, most of which git
knows otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.nouns.option import StudyOptions, option
from becalm.nouns.options.measuring import confidence
from becalm.nouns.workload import split
from becalm.units import duration_ns


def words(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command; none for an empty one. Raises UsageError."""
    return split(command) if command else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions(StudyOptions):
    """A session of benchmarks at one commit.

    `ordinal`: commits that lead to this one, itself included, None where that is not known; `commit_ns`: its date, ns
    since 1970. `machine`: what counts as the same machine, empty for what the host says. `changed`: the working tree
    had changes that are in no commit. `references`: names of programs that never change. `units`: of imported
    benchmarks, by name, other than time.
    """

    runs: int = option(15, "Rounds; each runs every benchmark once, in random order.", int, metavar="N", least=2)
    confidence: float = confidence()
    project: str = ""
    commit: str = ""
    commit_ns: int | None = None
    ordinal: int | None = None
    subject: str = ""
    branch: str = ""
    tags: tuple[str, ...] = ()
    baseline: str = ""
    machine: str = ""
    changed: bool = False
    references: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlaceOptions:
    """The place of a session in the history of a project."""

    commit: str | None = option(None, "Commit to measure.", str | None, metavar="REV", shown="HEAD")
    branch: str | None = option(None, "Branch of the commit.", str | None, metavar="NAME", shown="git's")
    tags: tuple[str, ...] = option(
        (),
        "Tag of the session: nightly, release.",
        Sequence[str],
        flag="--tag",
        metavar="WORD",
        repeats=True,
        parse=tuple,
    )
    project: str | None = option(
        None, "Project of the session.", str | None, metavar="NAME", shown="the repository's directory"
    )
    machine: str | None = option(
        None,
        "Name of the machine, if its host name changes, as in CI.",
        str | None,
        metavar="NAME",
        shown="its host name",
    )
    name_baseline: str | None = option(
        None, "Name this session, for `becalm history --baseline`.", str | None, metavar="NAME"
    )
    references: tuple[str, ...] = option(
        (),
        "Program that never changes, to tell changes of the machine from those of the project.",
        Sequence[str],
        flag="--reference",
        metavar="CMD",
        repeats=True,
        parse=tuple,
    )
    repository: str | None = option(
        None, "Git repository.", str | None, metavar="DIR", shown="that of the working directory"
    )
    names: tuple[str, ...] = option(
        (), "Name of each benchmark, in order.", Sequence[str], flag="--name", repeats=True, parse=tuple
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOptions:
    """The range of commits to record, and the command that builds each commit."""

    commits: str = option("", "Record each commit of a range: v1.2..HEAD.", str, metavar="RANGE")
    build: tuple[str, ...] = option(
        "",
        "Command that builds a commit, in its top directory.",
        str | Sequence[str],
        metavar="CMD",
        parse=words,
    )
    build_timeout_ns: int = option(
        "30min",
        "Skip a commit whose build takes longer.",
        float | str,
        name="build_timeout",
        unit="seconds",
        metavar="DURATION",
        parse=duration_ns,
    )
    all_parents: bool = option(False, "Include commits of merged branches, not only first parents.", bool)
    again: bool = option(False, "Include commits that have a session on this machine.", bool)
