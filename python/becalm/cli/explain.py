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
@click.option("--designed", is_flag=True, help="Run a program beside known loads by plan first: --designed -- COMMAND.")
@click.option("--steps", type=click.IntRange(20, 60), help="Loads of that plan  [default: 30].")
@click.option("--loads", metavar="LIST", help="Kinds of load: cpu,memory,disk,network  [default: all that can be].")
@click.option("--disk", metavar="DIR", help="On the disk to load  [default: /var/tmp].")
@click.option("--seed", type=click.IntRange(0), help="Repeat the same plan.")
@options.sudo
@options.store
@options.display
def command_explain(
    studies: tuple[str, ...],
    designed: bool,
    steps: int | None,
    loads: str | None,
    disk: str | None,
    seed: int | None,
    sudo: bool,
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
    becalm explain --designed -- ./program
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    if last and studies:
        raise UsageError("--last and numbers of studies contradict each other. Leave one out.")
    pages = [_place(path, what) for path, what in ((html, "--html"), (markdown, "--markdown")) if path is not None]
    if html is not None and not all(importlib.util.find_spec(name) for name in ("jinja2", "matplotlib")):
        raise UsageError("A page needs jinja2 and matplotlib: pip install 'becalm[report]'. Or take --markdown FILE.")
    from becalm.verbs.explain import explain

    plan = {"steps": steps, "loads": loads and tuple(loads.split(",")), "directory": disk, "seed": seed, "sudo": sudo}
    plan = {name: value for name, value in plan.items() if value}
    if designed:
        if program is not None or last:
            raise UsageError("--designed makes a study of its own: leave --program and --last out.")
        studies = (str(_campaign(studies, plan, store, quiet or as_json, plain)),)
    elif plan:
        option = {"directory": "disk"}.get(next(iter(plan)), next(iter(plan)))
        raise UsageError(f"--{option} is for a plan of loads: becalm explain --designed -- COMMAND.")
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


def _campaign(command: tuple[str, ...], plan: dict[str, Any], store: str | None, quiet: bool, plain: bool) -> int:
    """Measure a program beside known loads; the number of the study."""
    if not command:
        raise UsageError("Which program? For example: becalm explain --designed -- ./program")
    from becalm.report.progress import listener
    from becalm.study.load_experiment import campaign

    words = command[0] if len(command) == 1 else list(command)
    with listener(quiet=quiet, live=not plain, lines=not quiet, plain=plain) as heard:
        done = campaign(words, store=store, listener=heard, **plan)
    click.echo(f"becalm: {done.sentence}", err=True)
    return done.study


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
