"""`becalm explain`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import click

from becalm.cli import options
from becalm.errors import MachineError, UsageError


@click.command("explain")
@click.argument("studies", nargs=-1)
@click.option("--program", metavar="TEXT", help="Programs with TEXT in their name, of all studies or those given.")
@click.option("--last", is_flag=True, help="The last study  [default without studies and --program].")
@click.option("--html", metavar="FILE", help="Write the report there, with pictures.")
@click.option("--markdown", metavar="FILE", help="Write the report there as Markdown.")
@options.store
@options.display
def command_explain(
    studies: tuple[str, ...],
    program: str | None,
    last: bool,
    html: str | None,
    markdown: str | None,
    store: str | None,
    as_json: bool,
    quiet: bool,
    plain: bool,
) -> None:
    """Say what made stored runs slow: which load beside them, or that it cannot be told.

    \b
    becalm explain
    becalm explain 12 13 --html report.html
    becalm explain --program gzip
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    if last and studies:
        raise UsageError("--last and numbers of studies contradict each other. Leave one out.")
    pages = [_place(path, what) for path, what in ((html, "--html"), (markdown, "--markdown")) if path is not None]
    if html is not None and not all(importlib.util.find_spec(name) for name in ("jinja2", "matplotlib")):
        raise UsageError("A page needs jinja2 and matplotlib: pip install 'becalm[report]'. Or take --markdown FILE.")
    from becalm.verbs.explain import explain

    found = explain(*studies, program=program, last=last, store=store, warned=_warned)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    elif quiet:
        click.echo(found.sentence)
    else:
        from becalm.report.explain.terminal import explanation
        from becalm.report.terminal import console

        console(plain=plain).print(explanation(found, plain=plain))
    for path, what in pages:
        _write(found, path, what)
    sys.stdout.flush()


def _warned(sentence: str) -> None:
    click.echo(f"becalm: {sentence}", err=True)


def _place(given: str, option: str) -> tuple[Path, str]:
    """Before the work, not after it."""
    path = Path(given)
    if not path.parent.is_dir():
        raise UsageError(f"{option}: there is no directory {path.parent}.")
    return path, option


def _write(found: Any, path: Path, option: str) -> None:
    from becalm.report.explain import html, markdown

    text = html.page(found) if option == "--html" else markdown.write(found)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MachineError(f"The report {path} cannot be written: {error.strerror}.") from error
    click.echo(f"Report: {path}", err=True)
