"""The program whose CPUs are changed on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.bound_program import Program

from becalm.hosts.agent import agent_path

JOURNAL = Path("/var/lib/becalm/journal")


@pytest.fixture
def program() -> Iterator[Program]:
    """Yield a program; settings are restored by force after the test."""
    if JOURNAL.exists():
        pytest.skip(f"settings are on: {JOURNAL} is there")
    result = Program()
    yield result
    subprocess.run([agent_path(), "restore", "--force"], check=True, stdout=subprocess.DEVNULL)
    result.close()
