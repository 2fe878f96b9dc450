"""`becalm guest`: kernels for the host `guest:`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import output
from becalm.cli.echo import echo


@click.group("guest")
def command_guest() -> None:
    """Fetch and list kernels for virtual machines (docs/how-to/guest.md).

    \b
    becalm guest prepare 6.1
    becalm run --host 'guest:6.1?cpus=2' --output inherit -- cat /proc/version
    """


@command_guest.command("prepare")
@click.argument("kernel")
def prepare(kernel: str) -> None:
    """Fetch a kernel and keep it in the cache directory.

    KERNEL is a version that Debian has (6.1, 6.12), or a package file: linux-image-….deb. Nothing is installed.
    """
    guest_kernel = becalm.prepare_guest(kernel, report=output.warned)
    echo(f"{guest_kernel.release}\t{guest_kernel.image}")


@command_guest.command("list")
@output.as_json
def list_kernels(as_json: bool) -> None:
    """List the fetched kernels, newest first."""
    kernels = becalm.list_guests()
    if as_json:
        rows = [{"release": kernel.release, "image": str(kernel.image)} for kernel in kernels]
        output.print_json("kernels", {"kernels": rows})
        return
    for kernel in kernels:
        echo(f"{kernel.release}\t{kernel.image}")
    if not kernels:
        output.warned("There is no stored kernel. Fetch one: becalm guest prepare 6.1")
