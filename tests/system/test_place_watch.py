"""`becalm place --watch` on real programs, which it looks for every two seconds."""

import os
import signal
import subprocess
import sys

import pytest
from tests.contract.run.test_place import CPUS, reference  # noqa: F401
from tests.waiting import HANG_LIMIT_S

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="there is only one CPU")


def test_programs_are_followed_as_they_come_and_go(reference, tmp_path):  # noqa: F811
    os.symlink("/bin/sleep", tmp_path / "t0")
    os.symlink("/bin/sleep", tmp_path / "t2")
    watched = subprocess.Popen(
        [sys.executable, "-m", "becalm", "place", reference, "--watch"],
        stderr=subprocess.PIPE,
        text=True,
    )
    whole = os.sched_getaffinity(0)
    processes = []
    try:
        for name in ("t0", "t2"):
            processes.append(subprocess.Popen([str(tmp_path / name), "9000"]))
            assert f"{name} came" in watched.stderr.readline()
        assert {frozenset(os.sched_getaffinity(process.pid)) for process in processes} == {
            frozenset({cpu}) for cpu in CPUS
        }
        processes[1].kill()
        processes[1].wait()
        assert "t2 ended" in watched.stderr.readline()
        watched.send_signal(signal.SIGINT)
        assert watched.wait(HANG_LIMIT_S) == 0
        assert os.sched_getaffinity(processes[0].pid) == whole
    finally:
        watched.kill()
        watched.wait()
        watched.stderr.close()
        for program in processes:
            program.kill()
            program.wait()
