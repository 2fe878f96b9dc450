"""The program becalm-sim: requests about sweet spots and caches (crates/becalm-sim/src/{spots,cache})."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.hosts.simulated.scheduler import engine


def ask(family: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request: the result of a stream for `spots`, of a simulation for `cache`.

    Raises UsageError for a request that cannot be answered, MachineError if the program is missing or was ended.
    """
    return engine.ask(family, request, "The engine that finds sweet spots", "give it a shorter stream")
