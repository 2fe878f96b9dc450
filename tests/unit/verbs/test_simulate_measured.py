"""Programs measured alone and beside each other, as files of the simulator."""

import tomllib

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError, WorkloadError
from becalm.hosts.simulated.scheduler.states import read
from becalm.nouns.measured_programs import MeasuredProgram, MeasuredPrograms

NAMES = ('a "quoted" \\ one', "sh -c 'true'")


def test_a_file_is_read_back_as_it_was(tmp_path):
    rows = tuple(MeasuredProgram(name, (10**9, 2 * 10**9), 1.5, dict.fromkeys(NAMES, 0.5)) for name in NAMES)
    path = tmp_path / "made.toml"
    path.write_text(MeasuredPrograms(2, rows).toml)
    made = read(path)
    assert made["lengths"] == [[10**9, 2 * 10**9]] * 2
    # Beside another one each has one of the two CPUs, so that half as fast is half a tick a tick.
    assert made["kinds"] == [{"alone": pytest.approx(2 / 3), "beside": [0.5, 0.5]}] * 2
    assert [row["name"] for row in tomllib.loads(path.read_text())["measured"]] == list(NAMES)
    assert [row["threads"] for row in tomllib.loads(path.read_text())["measured"]] == [2, 2]


def test_programs_are_measured_and_played(tmp_path):
    path = tmp_path / "programs.toml"
    programs = ["sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'", "sleep 0.01"]
    words = ["simulate", "--measure", "local", "--save", str(path), "--runs", "2", "--", *programs]
    said = CliRunner().invoke(group, words)
    assert said.exit_code == 0, said.output
    assert f"Play it: becalm simulate -- {path}" in said.output
    assert [row["name"] for row in tomllib.loads(path.read_text())["measured"]] == programs
    sleeper = tomllib.loads(path.read_text())["measured"][1]
    assert sleeper["busy"] < 0.9
    assert len(sleeper["solo"]) == 2
    assert becalm.simulate([str(path)]).runs[0].finished


@pytest.mark.parametrize(
    ("programs", "options", "why"),
    [
        (["gzip", "-9"], {}, "'-9' is no program"),
        (["true", "true"], {}, "named twice"),
        ([], {}, "not 0"),
        (["true"], {"runs": 1}, "2 times or more"),
        (["true"], {"save": "x.json"}, "a file of TOML"),
        (["true"], {"host": "sim:cfs"}, "sim:cfs runs no programs"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, programs, options, why):
    with pytest.raises(UsageError, match=why):
        becalm.measure_programs(programs, **{"host": "local", "save": tmp_path / "x.toml", **options})


def test_a_program_that_fails_is_named(tmp_path):
    with pytest.raises(WorkloadError, match="false did not end well"):
        becalm.measure_programs(["false"], host="local", save=tmp_path / "x.toml", runs=2)


def test_the_two_options_belong_together():
    said = CliRunner().invoke(group, ["simulate", "--measure", "local", "--", "true"])
    assert "belong together" in f"{said.output}{said.exception}"
