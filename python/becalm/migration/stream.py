"""The value CountStream: the input of the detector of sweet spots from a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.migration.kinds import ALL


class CountStream(msgspec.Struct, frozen=True):
    """A stream of counts.

    - `origin`: the member `from` of a request of `becalm-sim spots`
    - `events`: the counted events in words
    - `unit`: the unit of times, which is ns only if a clock was read
    - `miss_ratio`: whether the counts are those of a cache
    - `names`: known names of tasks, by number
    - `kinds`: the types of sweet spots that it can show
    """

    source: str
    origin: Mapping[str, Any]
    events: str
    unit: str = "ns"
    miss_ratio: bool = True
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    kinds: tuple[int, ...] = ALL
    looked_at: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The parts of the recorded question: `tasks`, `llc`, `recorded`."""
