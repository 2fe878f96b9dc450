"""`becalm check`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.workflow_commands import command, guard
from becalm.errors import MachineError, UsageError
from becalm.report.check_annotations import KINDS, github, gitlab, service

VALUES = (
    becalm.CheckOptions,
    becalm.Response,
    becalm.Work,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


@click.command("check")
@click.option("--stored", is_flag=True, help="Check two stored results instead: study numbers, titles or files.")
@click.option("--comment", metavar="FILE", help="Write the result as Markdown, for a comment on a pull request.")
@click.option(
    "--annotate",
    type=click.Choice(KINDS),
    default="auto",
    help="Write annotations for this service; auto: the one that runs becalm.",
)
@click.option(
    "--annotations",
    metavar="FILE",
    help="Code quality report for GitLab.  [default: gl-code-quality-report.json]",
)
@click.option("--file", "file", metavar="PATH", default="", help="Source file that annotations point at.")
@options.of(*VALUES, without=("name",))
@output.options
@output.time_unit
@click.argument("commands", nargs=-1)
def command_check(commands: tuple[str, ...], stored: bool, **keywords: Any) -> None:
    """Check whether a change makes programs slower than a limit.

    \b
    becalm check './old/prog input' './new/prog input'
    becalm check --old-build old --new-build new '{build}/prog a' '{build}/prog b'
    becalm check --stored main.json pull.json --more-old main-2.json

    Without further options COMMANDS are two: the old command line, then the new one. With --old-build and --new-build
    each of COMMANDS is one benchmark, which is run with both directories in place of {build}. With --stored nothing is
    run: COMMANDS are the old and the new result.

    Exit code: 0 within the limit, 1 above it, 5 undecided.
    """
    comment, kind, file = keywords.pop("comment"), keywords.pop("annotate"), keywords.pop("file")
    quality, kind = keywords.pop("annotations"), service(kind, os.environ)
    if kind == "gitlab" and quality is None:
        quality = "gl-code-quality-report.json"
    if quality is not None and kind != "gitlab":
        raise UsageError("--annotations is the file of GitLab's report. Add --annotate gitlab, or leave it out.")
    for path in (comment, quality):
        if path is not None and not Path(path).parent.is_dir():
            raise UsageError(f"There is no directory {Path(path).parent} to write {path} in.")
        if path is not None:
            becalm.target(path)
    if kind == "github":
        guard()
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener() as heard:
        result = becalm.check(list(commands), stored=stored, listener=heard, **chosen)
    if comment is not None:
        _write(comment, output.as_text(result))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY") if kind == "github" else None:
        _write(summary, output.as_text(result), append=True)
    if quality is not None:
        _write(quality, gitlab(result, file))
    if kind == "github":
        # GitHub reads annotations from either stream; with --json, standard output is for JSON only.
        command(github(result, file), err=out.as_json)
    out.end(result, chosen.get("store"))


def _write(path: str, text: str, *, append: bool = False) -> None:
    try:
        if append:
            with open(path, "a", encoding="utf-8") as opened:
                opened.write(text)
        else:
            with becalm.writing(path) as file:
                file.write(text.encode())
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}.") from error
