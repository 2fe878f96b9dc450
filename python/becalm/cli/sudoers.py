"""`becalm install-sudoers`."""

from __future__ import annotations

import click

import becalm
from becalm.cli.echo import echo
from becalm.errors import UsageError


@click.command("install-sudoers")
@click.argument("who", nargs=-1, metavar="[USER|%GROUP]...")
@click.option("--copy", is_flag=True, help="Install a copy of becalm-helper that only root can write, and name that.")
@click.option("--polkit", is_flag=True, help="Write the polkit action for pkexec, too.")
@click.option("--print", "show", is_flag=True, help="Print the file; write nothing.")
@click.option("--remove", is_flag=True, help="Remove all of it.")
def command_install_sudoers(who: tuple[str, ...], copy: bool, polkit: bool, show: bool, remove: bool) -> None:
    """Let users and groups change settings of this machine with --sudo, and nothing else.

    Needs root. Writes /etc/sudoers.d/becalm, which names becalm-helper alone, once visudo has accepted it.
    """
    if remove and (who or copy or polkit or show):
        raise UsageError("--remove takes nothing else.")
    if show:
        click.echo(becalm.show_sudoers(who, copy=copy), nl=False)
        return
    for sentence in becalm.remove_sudoers() if remove else becalm.install_sudoers(who, copy=copy, polkit=polkit):
        echo(sentence)
