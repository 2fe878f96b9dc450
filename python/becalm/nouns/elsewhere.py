"""The line in becalm's spool that names the place of the agent's spool on another machine.

An agent on another machine keeps finished runs there until they have arrived. After becalm is killed, its successor
finds them by this line (`becalm.store.spool`, `Access.left`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Place = Mapping[str, Any]
"""The place of a spool, as JSON in the form of its host."""

_EVENT = "elsewhere"


def elsewhere(place: Place) -> bytes:
    """Return the line for a place."""
    return json.dumps({"event": _EVENT, "place": place}).encode() + b"\n"


def place_in(line: bytes) -> Place | None:
    """Return the place that a line of a spool names; None for any other line."""
    try:
        event = json.loads(line)
        return dict(event["place"]) if event["event"] == _EVENT else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
