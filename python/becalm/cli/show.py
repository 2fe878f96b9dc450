"""What `run` and `compare` do after parsing: call with a progress display, print, and choose the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from becalm.errors import UsageError


def measure(call: Callable[..., Any], given: dict[str, Any], *, as_json: bool, quiet: bool, plain: bool) -> int:
    """Call `becalm.run` or `becalm.compare`, or one for several hosts, and print its verdict; returns the exit code."""
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    from becalm.nouns.verdict import Stopped
    from becalm.report.progress import listener

    # A program that writes to the terminal itself and a display that redraws its last lines would spoil each other.
    live = not plain and given.get("output") != "inherit"
    with listener(quiet=quiet, live=live, lines=not as_json, plain=plain) as heard:
        verdict = call(listener=heard, **given)
    if "hosts" in given:
        return _several(verdict, given.get("store"), as_json=as_json, quiet=quiet, plain=plain)
    if as_json:
        click.echo(json.dumps(with_runs(verdict, given.get("store")), indent=2, allow_nan=False))
    elif quiet:
        click.echo(verdict.sentence)
    else:
        from becalm.report import terminal

        terminal.console(plain=plain).print(terminal.verdict(verdict, plain=plain))
    sys.stdout.flush()
    if verdict.stopped is Stopped.FAILED:
        return 4
    return 1 if verdict.passed is False else 0


def _several(found: Any, store: str | bool | None, *, as_json: bool, quiet: bool, plain: bool) -> int:
    """Print what several hosts gave; returns the exit code."""
    if as_json:
        value = found.to_json()
        for shown, each in zip(value["hosts"], found.hosts, strict=True):
            if each.verdict is not None:
                shown["verdict"] = with_runs(each.verdict, store)
        click.echo(json.dumps(value, indent=2, allow_nan=False))
    elif quiet:
        click.echo(found.sentence)
    else:
        from becalm.report import terminal
        from becalm.report.multi_host.terminal import several

        terminal.console(plain=plain).print(several(found, plain=plain))
    sys.stdout.flush()
    code: int = found.exit_code
    return code


def regrouped(study: str, store: str | None, *, as_json: bool, plain: bool, warned: Callable[[str], None]) -> None:
    """Print again what several hosts gave together."""
    from becalm.nouns.survey import SurveyResult
    from becalm.study.stored_group import show_together

    found = show_together(study, store, warned=warned)
    if isinstance(found, SurveyResult) and not as_json:
        from becalm.report import terminal
        from becalm.report.multi_host.surveyed import table

        terminal.console(plain=plain).print(table(found, plain=plain))
    elif isinstance(found, SurveyResult):
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        _several(found, store, as_json=as_json, quiet=False, plain=plain)


def with_runs(verdict: Any, store: str | bool | None) -> dict[str, Any]:
    """The verdict's JSON with its runs, where they were kept."""
    value: dict[str, Any] = verdict.to_json()
    if verdict.study is not None:
        from becalm.nouns.run import COLUMNS
        from becalm.report.formats.becalm_json import loads_to_json
        from becalm.store import Store

        with Store.open(store if isinstance(store, str) else None) as opened:
            value["runs"] = {"columns": list(COLUMNS), "rows": [list(run) for run in opened.runs(verdict.study)]}
            value["loads"] = loads_to_json(opened.loads(verdict.study))
    return value
