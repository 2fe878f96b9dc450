"""The output of programs, passed on by a listener that writes it where becalm's own output goes, and does nothing else.

A program that inherits becalm's output needs nobody for that; one on another machine does.
"""

from __future__ import annotations

import sys

from becalm.results.progress import Quiet


class PassOn(Quiet):
    """A listener that writes the output of programs and nothing of its own."""

    def wrote(self, stream: str, text: str) -> None:
        """Write it, at once."""
        out = sys.stderr if stream == "stderr" else sys.stdout
        out.write(text)
        out.flush()


class Telling(PassOn):
    """A listener that passes on the output of programs, and writes warnings to standard error."""

    def warned(self, sentence: str) -> None:
        """Write the warning at once."""
        sys.stderr.write(f"becalm: {sentence}\n")
        sys.stderr.flush()
