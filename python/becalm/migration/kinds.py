"""The types of sweet spots: 0 a program begins, 1 its working set changes, 2 its data are evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KINDS: Mapping[str, tuple[int, ...]] = {"llc": (0, 1, 2), "ws_turnover": (1,), "faults": (0,)}
"""The types of sweet spots that each quantity can show. The share of minor faults is always high; pages are those of
one process."""

ALL = KINDS["llc"]


def visible(answer: Mapping[str, Any], kinds: Sequence[int]) -> dict[str, Any]:
    """Return an answer of the engine with only the spots and states of these types."""
    rows = {name: [row for row in answer[name] if row["kind"] in kinds] for name in ("spots", "states")}
    return {**answer, **rows}


def of_ratio(miss_ratio: bool) -> tuple[int, ...]:
    """Return the types that a stream can show, by whether it has a miss ratio."""
    return ALL if miss_ratio else KINDS["faults"]
