"""The remains of a killed becalm are removed by the next one."""

import os
import subprocess
import sys

from becalm.hosts import scratch
from becalm.hosts.scratch import Scratch

KILLED = """
import os, signal, sys
from becalm.hosts.scratch import Scratch
made = Scratch("trial", sys.argv[1])
open(made.name + "/console", "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""


def names(path):
    return sorted(path.name for path in path.iterdir())


def test_only_remains_of_a_killed_becalm_are_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "YOUNG_S", -1.0)
    used = Scratch("trial", str(tmp_path))
    (tmp_path / "becalm-trial-link").symlink_to(used.name)
    (tmp_path / "becalm-other-x").mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert len(names(tmp_path)) == 4
    new = Scratch("trial", str(tmp_path))
    left = ["becalm-other-x", "becalm-trial-link", os.path.basename(used.name), os.path.basename(new.name)]
    assert names(tmp_path) == sorted(left)
    used.cleanup()
    new.cleanup()
