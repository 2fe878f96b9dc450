"""`becalm history`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.records import STORE
from becalm.errors import UsageError


@click.command("history")
@click.argument("project", required=False)
@click.option("--branch", metavar="NAME", help="Only sessions of this branch, and those of an unknown one.")
@click.option("--tag", metavar="WORD", help="Only sessions with this word.")
@click.option("--baseline", metavar="NAME", help="Compare the present with the session of this name.")
@click.option("--rename", "renamed", metavar="OLD=NEW", multiple=True, help="A benchmark that had another name before.")
@click.option("--links", metavar="URL", help="Page of a commit, with {commit} in it, for the report.")
@click.option(
    "--rate",
    type=options.Number(False),
    help="False alarms that a commit may bring, over all benchmarks.  [default: 0.0005]",
)
@click.option(
    "--fail-on-change", is_flag=True, help="Exit code 1 when the newest session shows a change for the worse."
)
@options.one(becalm.HistoryPlaceOptions, "repository")
@STORE
@output.options
def command_history(project: str | None, renamed: tuple[str, ...], **given: Any) -> None:
    """Show which commits changed which benchmarks of a project that `becalm record` has measured.

    \b
    becalm history
    becalm history --report history.html --links 'https://example.org/commit/{commit}'
    becalm history --baseline v1.0 --json
    """
    out = output.OutputForm.of(given)
    names = dict(each.partition("=")[::2] for each in renamed)
    if wrong := [old for old, new in names.items() if not old or not new]:
        raise UsageError(f"--rename {wrong[0]!r} is not of the form OLD=NEW.")
    chosen = {name: value for name, value in given.items() if value is not None}
    out.end(becalm.history(project, renamed=names, warned=output.warned, **chosen))
