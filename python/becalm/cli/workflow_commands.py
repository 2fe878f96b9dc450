"""Workflow commands of GitHub: no text in becalm's output is one, but for annotations.

The runner obeys lines of a step's output, of both streams: `::NAME …::` at the beginning of a line, behind blanks, and
`##[NAME …]` anywhere (actions/runner, Runner.Common/ActionCommand.cs). Names and messages of programs under test come
from whoever proposed the change, and would set masks, problem matchers and states of the workflow.

Under GITHUB_ACTIONS standard output and standard error write one character of such a text as `\\u003a` or `\\u005b`,
which in JSON is that same character. What goes into a file is left as it is: the runner does not see it.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Mapping
from typing import TextIO

UNSEEN = (
    r"\x00-\x09\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u1680\u180e\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Blanks, control and format characters: trimmed, or without weight when .NET compares texts by ICU."""

_COMMAND = re.compile(rf"((?:\A|[\r\n])[{UNSEEN}]*:[{UNSEEN}]*):")
_OLD_COMMAND = re.compile(rf"(#[{UNSEEN}]*#[{UNSEEN}]*)\[")
_WEIGHTLESS = re.compile(f"[{UNSEEN}]+")


class Guarded(io.TextIOWrapper):
    """A stream in which nothing is a workflow command, however the text is divided into writes."""

    before: TextIO | None = None

    _begun = ""
    """The part of the last line that can begin a command; "x" stands for all else."""

    def write(self, text: str) -> int:
        """Write a text, commands escaped."""
        whole = _OLD_COMMAND.sub(r"\1\\u005b", _COMMAND.sub(r"\1\\u003a", self._begun + text))
        super().write(whole[len(self._begun) :])
        self._begun = _beginning(self._begun + text)
        return len(text)

    def write_command(self, text: str) -> None:
        """Write whole lines of commands that becalm gives itself."""
        super().write(text)

    def close(self) -> None:
        """Write what is left. The bytes beneath belong to the stream that was there before."""
        if not self.buffer.closed:
            self.flush()


def _beginning(text: str) -> str:
    line = _WEIGHTLESS.sub("", re.split(r"[\r\n]", text)[-1])
    return line if line in ("", ":", "#", "##") else "x" + re.sub(r".*?(#{0,2})\Z", r"\1", line, flags=re.DOTALL)


def guard(environment: Mapping[str, str] | None = None) -> None:
    """Guard standard output and standard error where GitHub reads them; `environment` None: it does."""
    if environment is not None and environment.get("GITHUB_ACTIONS") != "true":
        return
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, Guarded) or _is_file(stream):
        return stream
    stream.flush()
    guarded = Guarded(stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
    # A stream that nobody knows any more closes its bytes.
    guarded.before = stream
    return guarded


def _is_file(stream: io.TextIOWrapper) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):
        return False


def command(lines: str, *, err: bool = False) -> None:
    """Print lines of commands on standard output or standard error."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(stream, Guarded):
        stream.write_command(lines)
    else:
        stream.write(lines)
