"""The program becalm-sim: requests about sweet spots and caches (crates/becalm-sim/src/{spots,cache})."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.simulated.scheduler.engine import simulator_path


def ask(family: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The one answer to a request: of `spots`, what was found in a stream; of `cache`, what was simulated.

    Raises UsageError for what cannot be answered, MachineError when the program is missing or was ended.
    """
    line = json.dumps(request) + "\n"
    done = subprocess.run([simulator_path(), family], input=line, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        why = f"ended with {done.returncode}"
        if done.returncode == -9:
            why = "was killed, probably for want of memory: give it a shorter stream"
        raise MachineError(f"The engine that finds sweet spots {why}.")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise UsageError(answer["error"])
    (found,) = answer.values()
    return dict(found)
