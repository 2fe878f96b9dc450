"""Suites on the real machine: the number of runs of each program, and the figures that follow from stored runs."""

import json
import os
import subprocess

import pytest
from click.testing import CliRunner

from becalm.analysis.suite import geometric_mean, rate
from becalm.cli.main import becalm as group
from becalm.errors import UsageError, WorkloadError
from becalm.store import Store
from becalm.study.stored import stored
from becalm.verbs.records import conclude
from becalm.verbs.suite import suite

FILE = """
copies = 2
[peak]
nice = 5
[[program]]
name = "short"
command = "sh -c 'echo short $BECALM_COPY >> ran'"
reference = "1s"
[[program]]
name = "long"
command = "sh -c 'echo long $(nice) >> ran'"
peak_command = "sh -c 'echo tuned $(nice) >> ran'"
reference = "3s"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "programs.toml"
    path.write_text(FILE)
    return path


def test_everything_is_run_and_rated(file, tmp_path):
    store = str(tmp_path / "store.db")
    ratings = suite(str(file), runs=2, store=store, seed=1)
    ran = (tmp_path / "ran").read_text().split("\n")[:-1]
    nice = int(subprocess.run(["nice"], capture_output=True, text=True, check=True).stdout)
    # A warm-up and two rounds alone, two rounds of two copies: in base, and in peak.
    assert ran.count("short") == 2 * 3
    assert ran.count("short 0") == ran.count("short 1") == 2 * 2
    assert ran.count(f"long {nice}") == 3 + 2 * 2
    assert ran.count("tuned 5") == 3 + 2 * 2
    assert [tuning.name for tuning in ratings.tunings] == ["base", "peak"]
    with Store.open(store) as opened:
        study = opened.study(ratings.study).study
        rows = [run for run in opened.runs(ratings.study) if run.round >= 0]
    assert study.kind == "suite"
    for number, tuning in enumerate(ratings.tunings):
        for index, program in enumerate(tuning.programs):
            alone = [run.wall_ns for run in rows if run.workload == number * 4 + index]
            together = [run.wall_ns for run in rows if run.workload == number * 4 + 2 + index]
            assert (program.times_ns, program.rate_times_ns) == (tuple(alone), tuple(together))
            assert program.ratio == program.reference_ns / (sum(alone) / 2)
            assert program.rate == rate(2, program.reference_ns, 3e9, sum(together) / 2)
            assert program.delay == sum(together) / sum(alone)
        assert tuning.ratio == geometric_mean(program.ratio for program in tuning.programs)
    assert "2 programs, median of 2" in ratings.sentence
    assert conclude(stored(ratings.study, store)) == ratings


def command(*words):
    """Call becalm as on the command line; return its result."""
    return CliRunner().invoke(group, ["suite", "--no-store", *words])


def test_the_command_line_prints_it_three_ways(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("--json", "--runs", "1", "--tuning", "base", "programs.toml")
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert (value["kind"], value["suite"], value["copies"], value["study"]) == ("suite", "programs", 2, None)
    assert [program["name"] for program in value["tunings"][0]["programs"]] == ["short", "long"]
    done = command("--markdown", "--runs", "1", "--no-rate", "programs.toml")
    assert "| program | reference | time | spread | ratio |" in done.stdout
    done = command("--plain", "--runs", "1", "--copies", "3", "programs.toml")
    assert "3 copies" in done.stdout


def test_a_program_that_fails_has_no_rating_and_the_others_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    item = '[[program]]\nname="{}"\ncommand="{}"\nreference=1\n'
    text = item.format("good", "true") + item.format("bad", "false")
    (tmp_path / "s.toml").write_text(text)
    ratings = suite(str(tmp_path / "s.toml"), runs=1, copies=2, store=False)
    good, bad = ratings.tunings[0].programs
    assert good.ratio > 0
    assert (bad.ratio, bad.rate, bad.failed) == (None, None, 2)
    assert ratings.tunings[0].ratio is None
    assert command("--runs", "1", "s.toml").exit_code == 4
    (tmp_path / "s.toml").write_text('[[program]]\ncommand="false"')
    with pytest.raises(WorkloadError, match="exit code 1"):
        suite(str(tmp_path / "s.toml"), runs=1, store=False)


def test_invalid_options_of_a_suite_are_refused(file, tmp_path):
    with pytest.raises(UsageError, match="budget"):
        suite(str(file), budget=3)
    (tmp_path / "s.toml").write_text('[[program]]\ncommand="true"')
    with pytest.raises(UsageError, match="does not define peak"):
        suite(str(tmp_path / "s.toml"), tuning="peak")


PRINTING = """
[[program]]
name = "fast"
command = "echo rate 500"
metric = "rate ([0-9]+),unit=req/s,better=higher"
reference = "250 req/s"
[[program]]
name = "plain"
command = "echo took 4 ms"
reference = "8ms"
"""


def test_programs_are_rated_by_what_they_print(tmp_path):
    path, store = tmp_path / "programs.toml", str(tmp_path / "store.db")
    path.write_text(PRINTING)
    ratings = suite(str(path), runs=2, store=store, metric="took ([0-9]+) ms,name=took,unit=ms")
    (tuning,) = ratings.tunings
    assert [(program.metric, program.values, program.ratio) for program in tuning.programs] == [
        ("rate", (500.0, 500.0), 2.0),
        ("took", (4.0, 4.0), 2.0),
    ]
    assert tuning.ratio == pytest.approx(2.0)
    assert (ratings.copies, tuning.rate) == (None, None)
    assert "There are no rates" in ratings.sentence
    assert conclude(stored(ratings.study, store)) == ratings
    with pytest.raises(UsageError, match="--copies is for the rate"):
        suite(str(path), runs=2, store=store, copies=2)


def test_copies_are_as_many_as_the_processors_that_the_settings_leave(tmp_path):
    text = '{}[[program]]\nname="a"\ncommand="true"\nreference=1\n'
    (tmp_path / "s.toml").write_text(text.format(""))
    whole = suite(str(tmp_path / "s.toml"), runs=1, store=False).copies
    assert whole == len(os.sched_getaffinity(0))
    path = str(min(os.sched_getaffinity(0)))
    assert suite(str(tmp_path / "s.toml"), runs=1, settings={"cpus": path}, store=False).copies == 1
    (tmp_path / "p.toml").write_text(f'[settings]\ncpus = "{path}"\n')
    assert suite(str(tmp_path / "s.toml"), runs=1, profile=str(tmp_path / "p.toml"), store=False).copies == 1
    # Peak may use all, and has as many copies as base.
    (tmp_path / "s.toml").write_text(text.format(f'[base]\ncpus = "{path}"\n[peak]\nnice = 1\n'))
    assert suite(str(tmp_path / "s.toml"), runs=1, store=False).copies == whole
