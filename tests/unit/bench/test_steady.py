"""The bench of steady programs: what lies between the runs of a study and of a bare loop, and what it says of both."""

import subprocess
from pathlib import Path

import pytest

import steady
from loop import compile_c
from steady import between_of, judged


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    program = tmp_path_factory.mktemp("between") / "between"
    compile_c(Path(steady.__file__).with_name("between.c"), program)
    return program


def between(loop, *argv):
    return subprocess.run([loop, *argv], capture_output=True, text=True)


def test_a_bare_loop_runs_the_program_so_often_and_passes_nothing_of_it_on(loop, tmp_path):
    done = between(loop, "7", "sh", "-c", f"echo said; echo run >> {tmp_path}/log; sleep 0.01")
    ran, lay_between = map(int, done.stdout.split())
    assert (tmp_path / "log").read_text() == "run\n" * 7
    assert ran >= 7 * 10_000_000
    assert lay_between > 0


def test_of_one_run_nothing_lies_between(loop):
    assert between(loop, "1", "true").stdout.split()[1] == "0"


@pytest.mark.parametrize("argv", [("3", "false"), ("3", "/nonexistent/program"), ("3",)])
def test_a_loop_of_what_fails_is_no_figure(loop, argv):
    done = between(loop, *argv)
    assert (done.returncode != 0, done.stdout) == (True, "")


def test_a_bare_loop_has_as_many_runs_as_its_seconds_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(steady, "BARE_S", 0.0)
    log = tmp_path / "log"
    assert steady.bare_between(["sh", "-c", f"echo run >> {log}"], str(tmp_path)) > 0
    assert log.read_text().count("run") == 1 + steady.LEAST_BARE


def test_between_is_what_is_no_run_and_where_it_is():
    columns = ["started_ns", "wall_ns", "settings"]
    runs = [[100, 50, 0], [190, 50, 0], [245, 100, 0], [357, 100, 1], [460, 100, 1]]
    found = between_of({"runs": {"columns": columns, "rows": runs}})
    assert found == pytest.approx({"all": 60 / 400, "start": 40 / 400, "rows": 8 / 400, "switches": 12 / 400})


def row(program, study, bare):
    return {"program": program, "between": {"all": study}, "bare": bare}


def test_a_search_adds_what_a_bare_loop_has_not():
    (met,) = judged([row("git", 0.0165, 0.008), row("lame", 0.006, 0.003)])
    assert met == (
        "a search adds to the time of its runs, beyond a bare loop of them: 0.85 % (git), 0.30 % (lame), "
        "wanted at most 1 %: met"
    )
    (missed,) = judged([row("git", 0.0165, 0.006), row("lame", 0.006, 0.003)])
    assert missed.endswith("wanted at most 1 %: not met")


def test_nothing_is_judged_where_there_was_no_bare_loop():
    assert judged([row("git", 0.0165, None)]) == []


def test_a_list_that_was_not_measured_has_a_line_that_says_why():
    interval = {"value": 0.02, "low": 0.01, "high": 0.04}
    tried = {
        "arms": [{"name": "baseline", "mean_ns": {"value": 5e7}, "spread": interval}],
        "comparisons": [],
        "findings": [
            {"kind": "tried", "numbers": {"name": "pyperf", "same_as": "becalm"}},
            {"kind": "tried", "numbers": {"name": "llvm-tips", "same_as": None}},
        ],
    }
    assert list(steady.rows({"program": "git", "first": "becalm", "tried": tried})) == [
        ["git (50 ms)", "untouched", "2 (1 to 4) %", "", ""],
        ["git (50 ms)", "pyperf", "the same settings as becalm", "", ""],
        ["git (50 ms)", "llvm-tips", "nothing that can be set here", "", ""],
    ]
