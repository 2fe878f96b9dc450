"""Lines on the terminal, whatever their text came from."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

import click

from becalm.wording.printable import printable

HANDLER = "becalm"
"""The name of the error handler for letters that an encoding lacks."""


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text to standard output or standard error, with what a terminal would obey written out."""
    click.echo(printable(text), err=err, nl=nl)


def write_out(*streams: TextIO, encoding: str | None = None) -> None:
    """Have these streams write what their encoding, or this one, lacks by what it has: no report ends in a trace."""
    codecs.register_error(HANDLER, _instead)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding or stream.encoding, errors=HANDLER)


def _instead(error: UnicodeError) -> tuple[str, int]:
    # Loaded where it is needed: every module lengthens a short comparison.
    from becalm.wording.letters import instead

    return instead(error)
