"""Listeners that pass on the output of programs to becalm's own output.

A program that inherits becalm's output needs none; a program on another machine does.
"""

from __future__ import annotations

import sys

from becalm.results.progress import Quiet


class OutputListener(Quiet):
    """A listener that writes the output of programs, and nothing of its own."""

    def wrote(self, stream: str, text: str) -> None:
        """Write the output at once."""
        out = sys.stderr if stream == "stderr" else sys.stdout
        out.write(text)
        out.flush()


class WarningListener(OutputListener):
    """A listener that passes on the output of programs, and writes warnings to standard error."""

    def warned(self, sentence: str) -> None:
        """Write the warning at once."""
        sys.stderr.write(f"becalm: {sentence}\n")
        sys.stderr.flush()
