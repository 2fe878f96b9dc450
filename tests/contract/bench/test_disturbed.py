"""The processes that disturb a bench, and their end."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.waiting import wait_for

import disturbance
from disturbance import KINDS, disturbed


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_burst_ends_at_its_time_and_leaves_no_file(tmp_path, monkeypatch, kind):
    readings = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(disturbance, "time", SimpleNamespace(monotonic=lambda: next(readings)))
    monkeypatch.setattr(disturbance, "FILE_CHUNKS", 1)
    KINDS[kind][0](3.0, tmp_path)
    assert next(readings, None) is None
    assert list(tmp_path.iterdir()) == []


def processes(directory):
    """Return the processes whose command line names the directory."""
    pids = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and str(directory).encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                pids.append(int(name))
        except OSError:
            continue
    return pids


def test_a_disturbance_is_gone_with_its_children_afterwards(tmp_path):
    with disturbed(1, tmp_path):
        wait_for(lambda: len(processes(tmp_path)) > 1, "the disturbance has a child")
    wait_for(lambda: not processes(tmp_path), "the killed processes are gone")


def test_a_disturbance_that_ends_by_itself_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("disturbance.__file__", str(tmp_path / "none.py"))

    def until_it_ended():
        with disturbed(1, tmp_path) as process:
            process.wait()

    with pytest.raises(SystemExit, match="ended by itself"):
        until_it_ended()
