"""What programs write, passed on: a listener that writes it where becalm's own output goes, and does nothing else.

A program that inherits becalm's output needs nobody for that; one on another machine does.
"""

from __future__ import annotations

import sys

from becalm.nouns.progress import Quiet


class PassOn(Quiet):
    """Writes what programs write; says nothing of its own."""

    def wrote(self, stream: str, text: str) -> None:
        """Write it, at once."""
        out = sys.stderr if stream == "stderr" else sys.stdout
        out.write(text)
        out.flush()


class Telling(PassOn):
    """Passes on what programs write, and says on standard error what the person should know."""

    def warned(self, sentence: str) -> None:
        """Say it, at once."""
        sys.stderr.write(f"becalm: {sentence}\n")
        sys.stderr.flush()
