"""The load of a soak ends with it, however it ends."""

import subprocess
import sys

from tests.places import ROOT
from tests.waiting import wait_ended, wait_for

CODE = """
import sys, soak
from pathlib import Path
with soak.load(Path(sys.argv[1])) as pids:
    print(*pids, flush=True)
    input()
"""


def test_the_load_ends_with_its_killed_parent(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, tmp_path], cwd=ROOT / "tools", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 5
        wait_for((tmp_path / "written").exists, "the disk is written to")
        process.kill()
    for pid in pids:
        wait_ended(pid)
