"""`--setup` on this machine: once before the first run, not before each; what fails in it is said."""

import pytest

import becalm
from becalm.errors import WorkloadError


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return str(tmp_path / "runs.db")


def test_once_before_the_first_run_and_prepare_before_each(tmp_path, store):
    log = tmp_path / "log"
    becalm.compare(
        ["true", f"sh -c ': > {tmp_path}/b'"], runs=3, warmup=1, store=store, shell_program="bash -e",
        setup=f"echo setup >> {log}", prepares=[f"echo a >> {log}", f"echo b >> {log}"],
    )  # fmt: skip
    lines = log.read_text().split()
    assert lines.count("setup") == 2
    assert lines.count("a") == lines.count("b") >= 4
    assert lines[0] == "setup"


def test_a_setup_that_fails_is_said(store):
    with pytest.raises(WorkloadError, match="The setup command failed"):
        becalm.run("true", runs=3, store=store, setup="false")
