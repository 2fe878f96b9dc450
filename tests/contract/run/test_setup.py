"""`--setup` on this machine: once before the first run, not before each; its failure is reported."""

import pytest

import becalm
from becalm.errors import WorkloadError


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


def test_a_search_sets_a_program_up_once_however_often_it_tries_settings(tmp_path, store):
    log = tmp_path / "log"
    becalm.tune(
        ["true"], minimize="time", factors=["slice_ns=1..10ms:log"], most_runs=10, confirm_loops=2, confirm_runs=2,
        store=store, setup=f"sh -c 'echo setup >> {log}'", abort_above="20x", single_out=False, budget="none",
    )  # fmt: skip
    assert log.read_text().split() == ["setup"]


def test_a_setup_that_fails_is_reported(store):
    with pytest.raises(WorkloadError, match="The setup command failed"):
        becalm.run("true", runs=3, store=store, setup="false")
