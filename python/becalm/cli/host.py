"""`becalm host add`, `list`, `check`, `remove`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo


@click.group("host")
def command_host() -> None:
    """Name other machines for --host, and check that they answer (docs/how-to/remote.md).

    \b
    becalm host add bench ssh://ada@bench.example
    becalm host check bench
    becalm run --host bench -- ./program
    """


@command_host.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--ssh-config", metavar="FILE", help="ssh configuration to use instead of your usual one.")
def command_add(name: str, url: str, ssh_config: str | None) -> None:
    """Give the machine at URL, ssh://[user@]name[:port], a NAME. Does not connect."""
    known = becalm.add_host(name, url, ssh_config=ssh_config)
    echo(f"{known.name} is {known.url}. See whether it answers with: becalm host check {known.name}")


@command_host.command("list")
@output.as_json
def command_list(as_json: bool) -> None:
    """List the named machines."""
    hosts = becalm.list_hosts()
    if as_json:
        output.print_json("hosts", {"hosts": [output.fields(host) for host in hosts]})
        return
    if not hosts:
        echo("No machine has a name. Add one: becalm host add bench ssh://you@bench.example")
    width = max((len(host.name) for host in hosts), default=0)
    for host in hosts:
        echo(f"{host.name:{width}}  {host.url}" + (f"  (ssh -F {host.config})" if host.config else ""))


@command_host.command("check")
@click.argument("name")
@options.one(becalm.SessionOptions, "sudo")
@output.as_json
def command_check(name: str, sudo: bool, as_json: bool) -> None:
    """Connect to a machine (a name, or a URL), copy the agent if needed, and report what is possible there."""
    checked = becalm.check_host(name, sudo=sudo)
    if as_json:
        output.print_result(checked)
        return
    echo(checked.sentence)


@command_host.command("remove")
@click.argument("name")
def command_remove(name: str) -> None:
    """Remove a name. Nothing on that machine changes."""
    gone = becalm.remove_host(name)
    echo(f"{gone.name} is forgotten; it was {gone.url}.")
