"""Agents with a scripted clock and scripted counters (docs/reference/protocol.md, "Scripted figures").

Programs really run, and the agent reports the figures of the script in place of theirs, so a test can assert exact
numbers. `scripted_agent` is a conversation with such an agent; `scripted_becalm` has becalm itself use one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.contract.conversation import Agent

from becalm.hosts.local import SCRIPT

START_NS = 5_000_000_000
"""The monotonic time at which a script begins."""

UNIX_NS = 1_700_000_000_000_000_000
"""The Unix time at which a script begins."""

MS = 1_000_000


def run_row(lasts_ms: float, **figures: Any) -> dict[str, Any]:
    """Return the scripted figures of one run that lasts for so many milliseconds."""
    return {"lasts_ns": round(lasts_ms * MS), **figures}


def write_script(path: Path, *workloads: Sequence[dict[str, Any]], step_ns: int = 0) -> Path:
    """Write a script in which each workload has these runs in turn, and return its path."""
    script = {"start_ns": START_NS, "step_ns": step_ns, "unix_ns": UNIX_NS, "runs": [list(runs) for runs in workloads]}
    path.write_text(json.dumps(script))
    return path


@contextlib.contextmanager
def scripted_agent(script: Path, *options: str) -> Iterator[Agent]:
    """Hold a conversation with an agent that reports the figures of a script."""
    agent = Agent("--script", str(script), *options)
    try:
        yield agent
    finally:
        agent.close()


def scripted_becalm(monkeypatch: pytest.MonkeyPatch, script: Path) -> None:
    """Have becalm start its agent of this machine with a script until the end of the test."""
    monkeypatch.setenv(SCRIPT, str(script))
