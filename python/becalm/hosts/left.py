"""The entry in becalm's own spool about its agent's, for the becalm that runs after one that was killed."""

from __future__ import annotations

import os

from becalm.errors import MachineError
from becalm.nouns.elsewhere import Place, elsewhere


def leave(spool: int | None, place: Place | None, kept: bytes = b"") -> None:
    """Have this, and nothing else, in the spool: a place, and lines of runs. None: nothing is elsewhere.

    Raises MachineError when the file cannot be written.
    """
    if spool is None:
        return
    data = (b"" if place is None else elsewhere(place)) + kept
    try:
        # In one write over what is there: whoever is killed in between leaves the former place or this one.
        os.pwrite(spool, data, 0)
        os.ftruncate(spool, len(data))
    except OSError as error:
        raise MachineError(
            f"The file that keeps finished runs safe cannot be written: {error.strerror}. Free some disk space."
        ) from error
