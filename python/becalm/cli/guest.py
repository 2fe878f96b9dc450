"""`becalm guest`: kernels for the host `guest:`."""

from __future__ import annotations

import json
from typing import Any

import click

from becalm.cli import options


@click.group("guest")
def command_guest() -> None:
    """Virtual machines with another kernel: fetch kernels, list them.

    \b
    becalm guest prepare 6.1
    becalm run --host 'guest:6.1?cpus=2' --output inherit -- cat /proc/version
    """


@command_guest.command("prepare")
@click.argument("kernel")
def prepare(kernel: str) -> None:
    """Fetch a kernel and keep it in the cache directory.

    KERNEL is a version that Debian has (6.1, 6.12), or a package file: linux-image-….deb. It is not installed.
    """
    from becalm.hosts.guest.kernel import prepare as fetch

    found = fetch(kernel, lambda line: click.echo(f"becalm: {line}", err=True))
    click.echo(f"{found.release}\t{found.image}")


@command_guest.command("list")
@options.as_json
def list_kernels(as_json: bool) -> None:
    """List the kernels that are kept, newest first."""
    from becalm._version import VERSION
    from becalm.hosts.guest.kernel import prepared
    from becalm.nouns.verdict import SCHEMA

    found = prepared()
    if as_json:
        rows: list[dict[str, Any]] = [{"release": each.release, "image": str(each.image)} for each in found]
        head = {"becalm": VERSION, "schema": SCHEMA, "kind": "kernels"}
        click.echo(json.dumps({**head, "kernels": rows}, indent=2))
        return
    for each in found:
        click.echo(f"{each.release}\t{each.image}")
    if not found:
        click.echo("becalm: No kernel is kept. Fetch one: becalm guest prepare 6.1", err=True)
