"""The bare loop of the bench of steady programs, compiled."""

import subprocess
from pathlib import Path

import pytest

import steady

CLOCK = """
#include <time.h>
static long long readings;
static int scripted(struct timespec *t) { t->tv_sec = ++readings; t->tv_nsec = 0; return 0; }
#define clock_gettime(clock, time) scripted(time)
"""
"""A clock of which each reading is a second after the one before, the child's readings included (vfork(2))."""


SOURCE = Path(steady.__file__).with_name("between.c")


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """Return the compiled loop with a scripted clock."""
    directory = tmp_path_factory.mktemp("between")
    clock, program = directory / "clock.h", directory / "between"
    clock.write_text(CLOCK)
    subprocess.run(["cc", "-include", clock, "-o", program, SOURCE], check=True)
    return program


def between(loop, *argv):
    return subprocess.run([loop, *argv], capture_output=True, text=True)


def test_a_bare_loop_repeats_the_program_and_passes_none_of_its_output_on(loop, tmp_path):
    done = between(loop, "7", "sh", "-c", f"echo words; echo run >> {tmp_path}/log")
    assert (tmp_path / "log").read_text() == "run\n" * 7
    # Two readings a run, so that a second is in each run and one between two runs.
    assert done.stdout == f"{7 * 10**9} {6 * 10**9}\n"


def test_nothing_lies_between_the_runs_of_one_run(loop):
    assert between(loop, "1", "true").stdout.split()[1] == "0"


@pytest.mark.parametrize("argv", [("3", "false"), ("3", "/nonexistent/program"), ("3",)])
def test_a_loop_of_a_failing_program_prints_no_figure(loop, argv):
    done = between(loop, *argv)
    assert (done.returncode != 0, done.stdout) == (True, "")


def test_a_bare_loop_without_time_has_the_least_number_of_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(steady, "BARE_S", 0.0)
    log = tmp_path / "log"
    assert steady.bare_between(["sh", "-c", f"echo run >> {log}"], str(tmp_path)) > 0
    assert log.read_text().count("run") == 1 + steady.LEAST_BARE
