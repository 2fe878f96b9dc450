"""Rows of commands side by side: all are run, all output is printed, and no failure is hidden."""

import os
import signal
import subprocess
import sys

import pytest
from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S


def ran(*rows):
    return subprocess.run([sys.executable, ROOT / "tools/rows.py", *rows], capture_output=True, text=True, check=False)


def test_all_rows_are_run_at_once_and_the_first_is_heard_first(tmp_path):
    # Opening a FIFO waits for its other end (fifo(7)): one after the other they would wait for ever.
    for name in ("one", "two"):
        os.mkfifo(tmp_path / name)
    command = f"sh -c 'echo > {tmp_path}/one; read line < {tmp_path}/two; echo first'"
    two = f"sh -c 'read line < {tmp_path}/one; echo > {tmp_path}/two; echo second; echo wrong >&2'"
    done = ran(command, two)
    assert done.returncode == 0
    lines = [line for line in done.stdout.splitlines() if line in ("first", "second", "wrong")]
    assert lines == ["first", "second", "wrong"]
    assert [line.endswith("exit codes [0] ===") for line in done.stdout.splitlines() if line.startswith("===")] == [
        True
    ] * 2


def test_no_failure_is_hidden():
    assert ran("true", "sh -c 'exit 3'", "true").returncode == 3
    assert ran("sh -c 'exit 4'", "true").returncode == 4
    assert ran("true", "sh -c 'kill -9 $$'").returncode not in (0, 2)


def test_commands_of_a_row_are_run_one_after_the_other_and_none_is_left_out():
    done = ran("true", "echo before ; sh -c 'exit 5' ; echo after")
    assert done.returncode == 5
    assert [line for line in done.stdout.splitlines() if line in ("before", "after")] == ["before", "after"]
    assert "exit codes [0, 5, 0] ===" in done.stdout


def test_a_command_that_is_not_there_is_a_failure():
    done = ran("true", "becalm-no-such-command ; echo after")
    assert done.returncode == 127
    assert "becalm-no-such-command: No such file" in done.stderr
    assert "after" in done.stdout.splitlines()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_command_is_begun_after_a_signal(tmp_path, number):
    os.mkfifo(tmp_path / "began")
    row = f"sh -c 'echo > {tmp_path}/began; exec sleep {HANG_LIMIT_S:.0f}' ; echo after"
    process = subprocess.Popen(
        [sys.executable, ROOT / "tools/rows.py", row], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    (tmp_path / "began").read_text()
    # A terminal sends SIGINT to the whole group; SIGTERM is usually sent to one process.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    out, _ = process.communicate(timeout=HANG_LIMIT_S)
    assert process.returncode != 0
    assert f"exit codes [-{number:d}, 130] ===" in out
    assert "after" not in out.splitlines()


def test_no_command_is_begun_after_ctrl_c_that_a_command_took_well(tmp_path):
    os.mkfifo(tmp_path / "began")
    script = f"trap 'exit 0' INT; echo > {tmp_path}/began; while :; do sleep 0.01; done"
    process = subprocess.Popen(
        [sys.executable, ROOT / "tools/rows.py", f'sh -c "{script}" ; echo after'],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    (tmp_path / "began").read_text()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=HANG_LIMIT_S)
    assert "exit codes [0, 130] ===" in out
    assert "after" not in out.splitlines()
