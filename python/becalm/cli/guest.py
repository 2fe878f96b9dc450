"""`becalm guest`: kernels for the host `guest:`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import output
from becalm.cli.echo import echo


@click.group("guest")
def command_guest() -> None:
    """Prepare virtual machines with another kernel: fetch kernels, list them.

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
    found = becalm.prepare_guest(kernel, said=output.warned)
    echo(f"{found.release}\t{found.image}")


@command_guest.command("list")
@output.as_json
def list_kernels(as_json: bool) -> None:
    """List the kernels that are kept, newest first."""
    kernels = becalm.list_guests()
    if as_json:
        rows = [{"release": each.release, "image": str(each.image)} for each in kernels]
        output.print_json("kernels", {"kernels": rows})
        return
    for each in kernels:
        echo(f"{each.release}\t{each.image}")
    if not kernels:
        output.warned("No kernel is kept. Fetch one: becalm guest prepare 6.1")
