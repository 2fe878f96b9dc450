"""The program `becalm-sim place`: requests of JSON lines about placements (crates/becalm-sim/src/place/mod.rs)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.simulated.scheduler.engine import simulator_path


def ask(kind: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The one answer to a request of a kind: optimal, swap, cheapest, infer.

    Raises UsageError for what cannot be answered, MachineError when the program is missing or was ended.
    """
    line = json.dumps({kind: request}) + "\n"
    done = subprocess.run([simulator_path(), "place"], input=line, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        why = f"ended with {done.returncode}"
        if done.returncode == -9:
            why = "was killed, probably for want of memory: place fewer tasks"
        raise MachineError(f"The engine that places tasks {why}.")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise UsageError(answer["error"])
    (found,) = answer.values()
    return dict(found)
