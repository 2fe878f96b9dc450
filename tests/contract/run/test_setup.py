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
    with pytest.raises(
        WorkloadError, match=r"The setup command of true failed \(a warm-up run\)\. \S*false ended with"
    ):
        becalm.run("true", runs=3, store=store, setup="false")


def test_a_cleanup_that_fails_is_reported_and_the_runs_before_it_are_kept(tmp_path, store):
    twice = f"test $(wc -l < {tmp_path}/log) -lt 3"
    verdict = becalm.run(
        f"sh -c 'echo x >> {tmp_path}/log'", runs=9, warmup=0, store=store, cleanup=["sh", "-c", twice]
    )
    assert verdict.exit_code == 4
    assert verdict.summaries[0].runs == 2
    (failed,) = [finding for finding in verdict.findings if finding.kind == "failure"]
    assert "The cleanup command of" in failed.sentence
    assert "in run 2, after 2 good runs" in failed.sentence


def test_parameters_are_filled_in_all_hooks_and_setup_builds_each_variant(tmp_path, store):
    build = f"sh -c 'printf \"#!/bin/sh\\necho {{o}} >> {tmp_path}/ran\\n\" > b-{{o}}; chmod +x b-{{o}}'"
    comparison = becalm.compare(
        ["./b-{o}"], parameters={"o": "0,2"}, runs=2, warmup=0, store=store, directory=str(tmp_path),
        setup=build, prepares=[f"touch {tmp_path}/before-{{o}}"], cleanup=f"touch {tmp_path}/after-{{o}}",
    )  # fmt: skip
    assert [summary.name for summary in comparison.summaries] == ["./b-0", "./b-2"]
    assert sorted((tmp_path / "ran").read_text().split()) == ["0", "0", "2", "2"]
    names = {path.name for path in tmp_path.iterdir()}
    assert {"before-0", "before-2", "after-0", "after-2"} <= names
