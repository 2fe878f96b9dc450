"""The output of `becalm export` on a terminal and into a pipe."""

import os
import pty
import subprocess
import sys

import pytest
from tests.unit.cli.test_records import HOSTILE

import becalm
from becalm.nouns.workload import Workload

EXPORT = (sys.executable, "-m", "becalm", "export", "--format", "csv")


@pytest.fixture(autouse=True)
def hostile(store):
    """Store a study of a program whose name has control characters."""
    becalm.run(Workload.of("spin 1s", name=HOSTILE), runs=2, host="sim:normal", seed=1)


def test_a_terminal_shows_control_characters_by_their_numbers():
    outside, inside = pty.openpty()
    with subprocess.Popen(EXPORT, stdout=inside, stderr=inside, stdin=subprocess.DEVNULL) as process:
        os.close(inside)
        output = b""
        while True:
            try:
                output += os.read(outside, 65536)
            except OSError:  # EIO: nobody has the other side any more.
                break
    os.close(outside)
    assert process.returncode == 0
    assert "a\\x1b]0;title\\x07\\x1b[2J\\u202eb" in output.decode()


def test_a_pipe_gets_the_name_as_it_is():
    assert HOSTILE in subprocess.run([*EXPORT, "--raw"], capture_output=True, check=True).stdout.decode()
