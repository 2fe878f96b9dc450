"""Commands of becalm that are not measured, such as builds, end with it, however it ends."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.pipes import first_line, sleeps
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

from becalm import command_session
from becalm.command_session import NOT_ENDED
from becalm.errors import WorkloadError
from becalm.study.build_command import run_build
from becalm.workloads import script
from becalm.workloads.program_options import ProgramOptions

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


def test_an_interrupt_ends_what_a_command_that_has_ended_left_running(tmp_path):
    """Ctrl-C after a command was waited for, as Popen.communicate does where a program left running has the pipe."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def interrupted():
        with command_session.run_in_session(["sh", "-c", f"sleep 9000 & echo $! >{fifo}"]) as process:
            seen.append(int(first_line(fifo)))
            assert process.wait(timeout=HANG_LIMIT_S) == 0
            raise KeyboardInterrupt

    seen = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    wait_ended(*seen)


@pytest.mark.parametrize("call", ["build", "script"])
def test_a_program_of_another_user_that_goes_on_is_named(call, monkeypatch, tmp_path):
    killpg = os.killpg

    def refuse(group, sign):
        with contextlib.suppress(ProcessLookupError):
            killpg(group, signal.SIGKILL)
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    if call == "build":
        assert run_build(["sleep", "9000"], tmp_path / "log", 0).endswith(f"longer than 0 s and {NOT_ENDED}")
        return
    monkeypatch.setattr(script, "LIMIT_S", 0)
    with pytest.raises(WorkloadError, match=f"0 s and {NOT_ENDED}"):
        script.call(["sleep", "9000"], ProgramOptions(base=Path("/")), None)


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
