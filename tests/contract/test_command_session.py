"""Commands of becalm that are not measured, such as builds, end with it, however it ends."""

import os
import signal
import subprocess
import sys

import pytest
from tests.support.pipes import first_line, sleeps
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

from becalm import command_session

BUILD = "run_build(command, Path(os.devnull), 9e9)"
SCRIPT = "script.call(command, ProgramOptions(base=Path('/')), None)"

BECALM = """
import os, sys
from pathlib import Path
from becalm.study.build_command import run_build
from becalm.workloads import script
from becalm.workloads.program_options import ProgramOptions

command = ["sh", "-c", f"sleep 9000 & echo $$ $! >{sys.argv[1]}; sleep 9000"]
"""


@pytest.mark.parametrize("call", [BUILD, SCRIPT], ids=["build", "script"])
def test_a_killed_becalm_takes_a_command_with_it(call, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    becalm = subprocess.Popen([sys.executable, "-c", BECALM + call, str(fifo)])
    started = [int(number) for number in first_line(fifo).split()]
    assert len(started) == 2
    wait_for(lambda: sleeps(becalm.pid), "becalm waits for the command")
    becalm.kill()
    assert becalm.wait(timeout=HANG_LIMIT_S) == -signal.SIGKILL
    for pid in started:
        wait_ended(pid)


def test_a_command_that_may_not_be_killed_is_left(monkeypatch):
    """A build that calls sudo has programs of root."""

    def refuse(*_):
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(command_session, "PATIENCE_S", 0)
        patch.setattr(os, "killpg", refuse)
        with command_session.run_in_session(["sleep", "9000"]) as process:
            pass
    assert process.returncode is None
    process.kill()
    process.wait()
