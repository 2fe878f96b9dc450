"""Processors that lack something, emulated for one program: what is said of their clocks, and what still holds."""

import os
import platform
import subprocess

import pytest
from tests.contract.clock.test_clock_header import CRATE
from tests.needs import need
from tests.places import ROOT

import becalm
from becalm.hosts import timer_evaluation
from becalm.wording.clock import DOUBTS

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of this kind are emulated"),
]

NO_RDTSCP = "core2duo"
NOT_INVARIANT = "max"
"""The processor of QEMU: rdtscp is there, and nobody says that the counter runs at one rate."""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example in C that writes a file of regions."""
    need("cc")
    program = tmp_path_factory.mktemp("example") / "regions"
    source = CRATE / "examples/regions.c"
    subprocess.run(["cc", "-std=gnu99", "-O2", f"-I{CRATE / 'include'}", source, "-o", program], check=True)
    return program


def emulated(processor, *words, **more):
    return subprocess.run([need("qemu-x86_64"), "-cpu", processor, *words], capture_output=True, text=True, **more)


def findings(path):
    """Return the findings about the clock of a file."""
    verdict = becalm.show(becalm.import_(path)[0]).verdict
    assert verdict.regions
    return {finding.kind: finding.sentence for finding in verdict.findings}


def test_an_evaluation_without_rdtscp_says_so_and_measures_the_rest(tmp_path, store, monkeypatch):
    program = tmp_path / "becalm-timers"
    line = f'exec {need("qemu-x86_64")} -cpu {NO_RDTSCP} {timer_evaluation.timers_path()} "$@"'
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    monkeypatch.setattr(timer_evaluation, "timers_path", lambda: str(program))
    try:
        evaluation = becalm.clock(budget=0.5, timers=("barrier", "clock_gettime", "cycles"), flushes=("L1",))
    except becalm.MachineError as refused:
        # On a busy machine additions may not take what they should, and then there is no work of a known length.
        if "A multiplication took" not in str(refused):
            raise
        return
    assert DOUBTS["fallback"] in evaluation.sentence
    reasons = {absence.timer: absence.reason for absence in evaluation.absences}
    assert reasons["barrier"] == "the processor has no rdtscp"
    assert "perf_event_open" in reasons["cycles"]
    assert [cell.timer for cell in evaluation.cells] in ([], ["clock_gettime"])
    assert evaluation.trust["source"].startswith("clock_gettime")


def test_the_header_says_that_there_is_no_clock(example, tmp_path):
    done = emulated(NO_RDTSCP, example, tmp_path / "x.regions")
    assert (done.returncode, done.stderr) == (1, "no clock of this processor can be used\n")
    assert not (tmp_path / "x.regions").exists()


def test_a_counter_that_may_change_its_rate_is_reported(example, tmp_path, store):
    done = emulated(NOT_INVARIANT, example, tmp_path / "x.regions")
    assert done.returncode == 0, done.stderr
    assert "does not report that its counter runs at one rate" in findings(tmp_path / "x.regions")["region_rate"]


def test_the_crate_reads_the_system_s_clock_and_the_file_says_so(tmp_path, store):
    runner = f"{need('qemu-x86_64')} -cpu {NO_RDTSCP}"
    command = [
        "cargo",
        "run",
        "-q",
        "--locked",
        "-p",
        "becalm-clock",
        "--features",
        "std",
        "--example",
        "regions",
        "--",
    ]
    environment = {**os.environ, "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": runner}
    subprocess.run([*command, tmp_path / "x.regions"], cwd=ROOT, check=True, capture_output=True, env=environment)
    assert "clock_gettime(CLOCK_MONOTONIC_RAW) was read instead" in findings(tmp_path / "x.regions")["region_clock"]
