"""Types of sweet spots that counting can show: 0 a program begins, 1 its working set changes, 2 it is evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KINDS: Mapping[str, tuple[int, ...]] = {"llc": (0, 1, 2), "ws_turnover": (1,), "faults": (0,)}
"""The types of spots by the counted quantity. Nearly all faults are minor, so their share is always high; pages are
those of one process."""

ALL = KINDS["llc"]


def visible(found: Mapping[str, Any], kinds: Sequence[int]) -> dict[str, Any]:
    """Return an answer of the engine without spots and states that what was counted cannot show."""
    shown = {name: [each for each in found[name] if each["kind"] in kinds] for name in ("spots", "states")}
    return {**found, **shown}


def of_ratio(miss_ratio: bool) -> tuple[int, ...]:
    """Return the kinds of a stream of which only that is known."""
    return ALL if miss_ratio else KINDS["faults"]
