"""The fixtures of tests that measure on this machine from the outside."""

import os

import pytest
from tests.contract.scripted import MS, run_row, scripted_becalm, write_script

SCATTER = (0, 0.3, -0.2, 0.1, -0.4, 0.2, 0.4, -0.1, -0.3)
"""The times of one program after the other, ms from the middle."""


@pytest.fixture
def store(own_directories):
    """Return the path of a store of this test, which becalm uses without an option."""
    return os.environ["BECALM_STORE"]


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """Return a function that has the agent report times about so many ms for each program, from now on."""
    scripts = []

    def script(*middles):
        rows = [[run_row(middle + sample, user_ns=5 * MS) for sample in SCATTER] for middle in middles]
        scripts.append(write_script(tmp_path / f"script{len(scripts)}", *rows))
        scripted_becalm(monkeypatch, scripts[-1])

    return script
