"""The report of `becalm record --commits`: the outcome of each commit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.record_commits import RecordedCommit, RecordedCommits
from becalm.wording.history import short


def on_terminal(recorded: RecordedCommits, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = recorded.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(table, plain) for table in tables(recorded))])


def tables(recorded: RecordedCommits) -> Iterator[Table]:
    """Yield the commits in their order."""
    rows = tuple(
        (short(commit.commit), "" if commit.study is None else str(commit.study), _state(commit), commit.subject)
        for commit in recorded.commits
    )
    yield Table("", ("commit", "session", "", "subject"), rows, (1,), spare=(3,), names=(3,))


def _state(commit: RecordedCommit) -> str:
    """Return the outcome of a commit."""
    return commit.reason or ("recorded already" if commit.known else "recorded")
