"""Sessions that the tutorials play: the same each time."""

import subprocess
import sys

import pytest
import session
from tests.places import ROOT

COMMAND = "$ becalm run --host sim:drift --seed 1 --runs 20 -- spin 20ms"


def test_a_session_shows_commands_and_the_same_output_each_time():
    text = f"{COMMAND}\n$ becalm list"
    done = subprocess.run(
        [sys.executable, ROOT / "tools/session.py"], input=text, capture_output=True, text=True, check=True
    )
    first, second = done.stdout, session.played(text)
    assert first.startswith(COMMAND + "\nspin 20ms takes ")
    listed = first.split("$ becalm list\n")[1]
    assert "spin 20ms" in listed, "the second command sees what the first has stored"
    assert first.split("$ becalm list")[0] == second.split("$ becalm list")[0]


def test_a_command_that_fails_ends_the_session():
    with pytest.raises(ValueError, match="sim:nothing"):
        session.played("$ becalm run --host sim:nothing --seed 1 -- spin 20ms")
