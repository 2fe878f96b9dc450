"""Lines on the terminal, whatever their text came from."""

from __future__ import annotations

import click

from becalm.wording.printable import printable


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text to standard output or standard error, with what a terminal would obey written out."""
    click.echo(printable(text), err=err, nl=nl)
