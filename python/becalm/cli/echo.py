"""Safe output of text from any source to the terminal."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

import click

from becalm.wording.printable import printable

HANDLER = "becalm"
"""The name of the error handler for characters that an encoding lacks."""


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text to standard output or standard error, with control characters escaped."""
    click.echo(printable(text), err=err, nl=nl)


def write_out(*streams: TextIO, encoding: str | None = None) -> None:
    """Have streams replace characters that their encoding, or `encoding`, lacks, instead of raising an error."""
    codecs.register_error(HANDLER, _instead)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding or stream.encoding, errors=HANDLER)


def _instead(error: UnicodeError) -> tuple[str, int]:
    # Imported when needed: every module adds to the start-up time.
    from becalm.wording.letters import instead

    return instead(error)
