"""The entry in becalm's spool that names the spool of its agent, for the next becalm after one that was killed."""

from __future__ import annotations

import os

from becalm.errors import MachineError
from becalm.nouns.elsewhere import Place, elsewhere


def write_spool_entry(spool: int | None, place: Place | None, lines: bytes = b"") -> None:
    """Replace the content of the spool by a place (None: no runs are elsewhere) and lines of runs.

    Raises MachineError if the file cannot be written.
    """
    if spool is None:
        return
    data = (b"" if place is None else elsewhere(place)) + lines
    try:
        # One write over the old content: if becalm is killed, the old place or the new one remains.
        os.pwrite(spool, data, 0)
        os.ftruncate(spool, len(data))
    except OSError as error:
        raise MachineError(
            f"The file that keeps finished runs safe cannot be written: {error.strerror}. Free some disk space."
        ) from error
