"""`make demo`: every command of the demonstration ends well, and the tree of the laptop is as before."""

import sys

import demo
import pytest


@pytest.fixture
def becalm_command(tmp_path):
    """A program that is becalm as the tests have it."""
    path = tmp_path / "becalm"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m becalm "$@"\n')
    path.chmod(0o700)
    return str(path)


def test_the_demonstration_runs_and_leaves_nothing(becalm_command, tmp_path, capfd):
    directory = tmp_path / "demo"
    directory.mkdir()
    assert demo.play(becalm_command, 1, directory) == 0
    screen = capfd.readouterr().out
    assert screen.count("$ becalm ") == 5
    assert screen.count(" pair") >= 2
    assert "the run-to-run variation of spin 1s falls" in screen
    assert screen.rstrip().endswith("# Every file of the tree is as it was.")
