"""Protection of GitHub workflows: text in becalm's output is never a workflow command, except for annotations.

The runner executes commands in the output of a step, on both streams: `::NAME …::` at the beginning of a line or after
blanks, and `##[NAME …]` anywhere (actions/runner, Runner.Common/ActionCommand.cs). Whoever proposes a change chooses
the names and messages of tested programs, and could set masks, problem matchers and states of the workflow by them.

Under GITHUB_ACTIONS one character of such a text is written as `\\u003a` or `\\u005b`, which JSON reads as the original
character. Files are written unchanged: the runner does not see them.
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
"""Blanks, control and format characters, which .NET trims or ignores when it compares texts by ICU."""

_COMMAND = re.compile(rf"((?:\A|[\r\n])[{UNSEEN}]*:[{UNSEEN}]*):")
_OLD_COMMAND = re.compile(rf"(#[{UNSEEN}]*#[{UNSEEN}]*)\[")
_WEIGHTLESS = re.compile(f"[{UNSEEN}]+")


class Guarded(io.TextIOWrapper):
    """A stream that escapes workflow commands, however the text is divided into writes."""

    before: TextIO | None = None

    _begun = ""
    """The part of the last line that can begin a command; "x" stands for any other text."""

    def write(self, text: str) -> int:
        """Write a text with workflow commands escaped."""
        escaped = _OLD_COMMAND.sub(r"\1\\u005b", _COMMAND.sub(r"\1\\u003a", self._begun + text))
        super().write(escaped[len(self._begun) :])
        self._begun = _beginning(self._begun + text)
        return len(text)

    def write_command(self, text: str) -> None:
        """Write lines of workflow commands without escaping them."""
        super().write(text)

    def close(self) -> None:
        """Flush the stream; its bytes belong to the stream that was there before, which is not closed."""
        if not self.buffer.closed:
            self.flush()


def _beginning(text: str) -> str:
    line = _WEIGHTLESS.sub("", re.split(r"[\r\n]", text)[-1])
    return line if line in ("", ":", "#", "##") else "x" + re.sub(r".*?(#{0,2})\Z", r"\1", line, flags=re.DOTALL)


def guard(environment: Mapping[str, str] | None = None) -> None:
    """Guard standard output and standard error if GitHub reads them; `environment` None: always."""
    if environment is not None and environment.get("GITHUB_ACTIONS") != "true":
        return
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, Guarded) or _is_file(stream):
        return stream
    stream.flush()
    guarded = Guarded(stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
    # Without a reference, the stream would be deleted and close its bytes.
    guarded.before = stream
    return guarded


def _is_file(stream: io.TextIOWrapper) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):
        return False


def command(lines: str, *, err: bool = False) -> None:
    """Print lines of workflow commands to standard output or standard error."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(stream, Guarded):
        stream.write_command(lines)
    else:
        stream.write(lines)
