"""`becalm host add`, `list`, `check`, `remove`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from becalm.cli import options


@click.group("host")
def command_host() -> None:
    """Give other machines names, for --host; and see whether they answer (docs/how-to/remote.md).

    \b
    becalm host add bench ssh://ada@bench.example
    becalm host check bench
    becalm run --host bench -- ./program
    """


def _json(kind: str, value: dict[str, Any]) -> None:
    from becalm._version import VERSION
    from becalm.nouns.verdict import SCHEMA

    click.echo(json.dumps({"becalm": VERSION, "schema": SCHEMA, "kind": kind, **value}, indent=2, allow_nan=False))


@command_host.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--ssh-config", metavar="FILE", help="Use this configuration of ssh instead of your usual one.")
def command_add(name: str, url: str, ssh_config: str | None) -> None:
    """Call the machine at URL, ssh://[user@]name[:port], by a NAME. Does not connect."""
    from becalm.hosts import aliases

    made = aliases.add(name, url, ssh_config)
    click.echo(f"{made.name} is {made.url}. See whether it answers with: becalm host check {made.name}")


@command_host.command("list")
@options.as_json
def command_list(as_json: bool) -> None:
    """List the machines that have names."""
    from becalm.hosts import aliases

    found = [aliases.find(name) for name in aliases.names()]
    if as_json:
        _json("hosts", {"hosts": [asdict(each) for each in found]})
        return
    if not found:
        click.echo("No machine has a name. Add one: becalm host add bench ssh://you@bench.example")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        click.echo(f"{each.name:{width}}  {each.url}" + (f"  (ssh -F {each.config})" if each.config else ""))


@command_host.command("check")
@click.argument("name")
@options.sudo
@options.as_json
def command_check(name: str, sudo: bool, as_json: bool) -> None:
    """Connect to a machine (a name, or a URL), copy the agent if it is not there, and say what can be done."""
    from becalm.verbs.host import check

    found = check(name, sudo=sudo)
    if as_json:
        _json("host", asdict(found))
        return
    click.echo(found.sentence)


@command_host.command("remove")
@click.argument("name")
def command_remove(name: str) -> None:
    """Forget a name. Nothing on that machine changes."""
    from becalm.hosts import aliases

    gone = aliases.remove(name)
    click.echo(f"{gone.name} is forgotten; it was {gone.url}.")
