"""Sessions that the tutorials play: only on simulated machines, and the same each time."""

import subprocess
import sys

import pytest
from tests.places import ROOT

COMMAND = "$ becalm run --host sim:drift --seed 1 --runs 20 -- spin 20ms"


def played(text):
    tool = [sys.executable, ROOT / "tools/session.py"]
    return subprocess.run(tool, input=text, capture_output=True, text=True, check=False)


def test_a_session_shows_commands_and_what_they_print_the_same_each_time():
    text = f"{COMMAND}\n$ becalm list"
    first, second = played(text).stdout, played(text).stdout
    assert first.startswith(COMMAND + "\nspin 20ms takes ")
    listed = first.split("$ becalm list\n")[1]
    assert "spin 20ms" in listed, "the second command sees what the first has stored"
    assert first.split("$ becalm list")[0] == second.split("$ becalm list")[0]


@pytest.mark.parametrize(
    "line",
    [
        "$ becalm run -- true",
        "$ becalm run --host sim:drift -- spin 20ms",
        "$ becalm run --host ssh://a --seed 1 -- true",
        "$ rm -r x",
        "$ becalm run --host sim:nothing --seed 1 -- spin 20ms",
    ],
)
def test_nothing_else_is_played(line):
    done = played(line)
    assert done.returncode == 1
    assert "ValueError" in done.stderr
