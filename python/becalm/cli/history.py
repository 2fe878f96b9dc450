"""`becalm history`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.shared_options import STORE
from becalm.errors import UsageError


@click.command("history")
@click.argument("project", required=False)
@click.option("--branch", metavar="NAME", help="Only sessions of this branch, or of an unknown one.")
@click.option("--tag", metavar="WORD", help="Only sessions with this tag.")
@click.option("--baseline", metavar="NAME", help="Compare the newest session with the one of this name.")
@click.option(
    "--rename", "renamed", metavar="OLD=NEW", multiple=True, help="Benchmark that had another name before (repeatable)."
)
@click.option("--links", metavar="URL", help="URL of a commit's page, with {commit} in it, for links in the report.")
@click.option(
    "--rate",
    type=options.Number(False),
    help="Accepted rate of false alarms per commit, over all benchmarks.  [default: 0.0005]",
)
@click.option("--fail-on-change", is_flag=True, help="Exit with 1 if the newest session shows a slowdown.")
@options.one(becalm.HistoryPlaceOptions, "repository")
@STORE
@output.options
def command_history(project: str | None, renamed: tuple[str, ...], **keywords: Any) -> None:
    """Show which commits changed which benchmarks, from the sessions of `becalm record`.

    \b
    becalm history
    becalm history --report history.html --links 'https://example.org/{commit}'
    becalm history --baseline v1.0 --json
    """
    out = output.OutputForm.of(keywords)
    names = dict(rename.partition("=")[::2] for rename in renamed)
    if wrong := [old for old, new in names.items() if not old or not new]:
        raise UsageError(f"--rename {wrong[0]!r} is not of the form OLD=NEW.")
    chosen = {name: value for name, value in keywords.items() if value is not None}
    out.end(becalm.history(project, renamed=names, warned=output.warned, **chosen))
