"""The noun Stream: what a source gives the detector of sweet spots, and of which events it was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from becalm.migration.kinds import ALL


@dataclass(frozen=True, slots=True)
class CountStream:
    """`origin`: `from` of a request of `becalm-sim spots`. `events`: what references and misses are.

    `unit`: of its times, which are ns only where a clock was read. `miss_ratio`: whether they are of a cache.
    `names`: what tasks are called, by number, as far as the source knows. `kinds`: types of spots that it can show.
    """

    source: str
    origin: Mapping[str, Any]
    events: str
    unit: str = "ns"
    miss_ratio: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[int, ...] = ALL
    looked_at: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the recorded question: `tasks`, `llc`, `recorded`."""
