"""`becalm store check`, `backup`, `repair`."""

from __future__ import annotations

import sys

import click

import becalm
from becalm.cli import output
from becalm.cli.echo import echo
from becalm.cli.shared_options import STORE


@click.group("store")
def command_store() -> None:
    """Check, back up or repair the store (docs/reference/store.md).

    \b
    becalm store check
    becalm store backup becalm-2026-11.db
    becalm store repair repaired.db --store damaged.db
    """


@command_store.command("check")
@STORE
@output.as_json
def command_check(store: str | None, as_json: bool) -> None:
    """Read all pages and checksums, and report damaged studies. Exit code: 1 if there are any."""
    health = becalm.check_store(store)
    if as_json:
        output.print_result(health)
    else:
        _print_health(health)
    sys.exit(health.exit_code)


@command_store.command("backup")
@click.argument("copy", metavar="FILE")
@STORE
@output.as_json
def command_backup(copy: str, store: str | None, as_json: bool) -> None:
    """Copy the store to a new FILE, even while others use it."""
    backup = becalm.backup_store(copy, store)
    if as_json:
        output.print_result(backup)
        return
    echo(backup.sentence)


@command_store.command("repair")
@click.argument("new", metavar="FILE")
@STORE
@output.as_json
def command_repair(new: str, store: str | None, as_json: bool) -> None:
    """Save what is readable of a damaged store in a new FILE. The damaged store is not changed."""
    repair = becalm.repair_store(new, store)
    if as_json:
        output.print_result(repair)
        return
    echo(repair.sentence)
    for study in repair.health.studies:
        for problem in study.problems:
            echo(f"  study {study.number}: {problem}")


def _print_health(health: becalm.StoreHealth) -> None:
    echo(health.sentence)
    for problem in health.problems:
        echo(f"  {problem}")
    for study in health.studies:
        state = "; ".join(study.problems) or "whole"
        echo(f"  study {study.number} ({study.kind}, {study.runs:,} runs): {state}")
