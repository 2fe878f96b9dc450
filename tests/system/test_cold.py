"""Cold starts: the page cache of the whole machine is dropped before a run."""

import shutil
import subprocess

import pytest
from tests.contract.conversation import needs_root

from becalm.hosts.agent import agent_path


@needs_root
def test_cold_drops_the_cache(agent, tmp_path):
    # A program that nobody else holds in memory, much larger than what is read ahead of its first page.
    program = shutil.copy(agent_path(), tmp_path)
    kind = subprocess.run(["stat", "--file-system", "--format=%T", program], capture_output=True, text=True).stdout
    if kind.strip() in ("tmpfs", "ramfs"):
        pytest.skip("temporary files are in memory here, and in no cache")
    (row,), _ = agent.run(program, expect=None, cold=True)
    assert row["outcome"] == "ok"
    assert row["major_faults"] > 0, "the program had to be read again"
