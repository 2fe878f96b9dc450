"""`becalm install-sudoers`."""

from __future__ import annotations

import click

import becalm
from becalm.cli.echo import echo
from becalm.errors import UsageError


@click.command("install-sudoers")
@click.argument("who", nargs=-1, metavar="[USER|%GROUP]...")
@click.option("--copy", is_flag=True, help="Install and name a copy of becalm-helper that only root can write.")
@click.option("--polkit", is_flag=True, help="Also write the polkit action for pkexec.")
@click.option("--print", "show", is_flag=True, help="Print the file; write nothing.")
@click.option("--remove", is_flag=True, help="Remove the files that this command has written.")
def command_install_sudoers(who: tuple[str, ...], copy: bool, polkit: bool, show: bool, remove: bool) -> None:
    """Let users and groups change settings of this machine with --sudo, and nothing else.

    Needs root. Writes /etc/sudoers.d/becalm, which permits becalm-helper only, after visudo has accepted it.
    """
    if remove and (who or copy or polkit or show):
        raise UsageError("--remove takes no other options or users.")
    if show:
        click.echo(becalm.show_sudoers(who, copy=copy), nl=False)
        return
    for sentence in becalm.remove_sudoers() if remove else becalm.install_sudoers(who, copy=copy, polkit=polkit):
        echo(sentence)
