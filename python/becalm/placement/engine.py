"""The program `becalm-sim place`: requests of JSON lines about placements (crates/becalm-sim/src/place/mod.rs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.hosts.simulated.scheduler import engine


def ask(kind: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request of a kind: optimal, swap, cheapest, infer.

    Raises UsageError for a request that cannot be answered, MachineError when the program is missing or was ended.
    """
    return engine.ask("place", {kind: request}, "The engine that places tasks", "place fewer tasks")
