"""Programs measured alone and next to each other, as files of the simulator."""

import tomllib

import pytest
from click.testing import CliRunner

import becalm
from becalm import hosts
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.hosts import Runs
from becalm.hosts.simulated.scheduler.states import read
from becalm.nouns.run import Run
from becalm.results.simulate_measured import MeasuredProgram, MeasuredPrograms

NAMES = ('a "quoted" \\ one', "sh -c 'true'")


def test_a_file_is_read_back_as_it_was(tmp_path):
    rows = tuple(MeasuredProgram(name, (10**9, 2 * 10**9), 1.5, dict.fromkeys(NAMES, 0.5)) for name in NAMES)
    path = tmp_path / "made.toml"
    path.write_text(MeasuredPrograms(2, rows).toml)
    program = read(path)
    assert program["lengths"] == [[10**9, 2 * 10**9]] * 2
    # Next to another one each has one of the two CPUs, so that half as fast is half a tick a tick.
    assert program["kinds"] == [{"alone": pytest.approx(2 / 3), "alongside": [0.5, 0.5]}] * 2
    assert [row["name"] for row in tomllib.loads(path.read_text())["measured"]] == list(NAMES)
    assert [row["threads"] for row in tomllib.loads(path.read_text())["measured"]] == [2, 2]


def test_the_two_options_belong_together():
    result = CliRunner().invoke(group, ["simulate", "--measure", "local", "--", "true"])
    assert "belong together" in f"{result.output}{result.exception}"


@pytest.mark.parametrize(
    ("programs", "options", "reason"),
    [
        (["gzip", "-9"], {}, "'-9' is not a program"),
        (["true", "true"], {}, "named twice"),
        ([], {}, "not 0"),
        (["true"], {"runs": 1}, "2 times or more"),
        (["true"], {"save": "x.json"}, "the name of a TOML file"),
    ],
)
def test_invalid_measurements_are_refused(tmp_path, programs, options, reason):
    with pytest.raises(UsageError, match=reason):
        becalm.measure_programs(programs, **{"host": "local", "save": tmp_path / "x.toml", **options})


class ScriptedHost:
    """A host of four CPUs on which a run takes 10 ms of wall time, and of CPU time what its program's name says."""

    name = "local"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def facts(self):
        return {"cpu": {"allowed_count": 4}}

    def define(self, workloads, settings):
        self.used_ns = [int(workload.argv[-1]) if workload.argv[0] == "use" else 1 for workload in workloads]

    def measure(self, request):
        for seq, step in enumerate(request.block.steps):
            used_ns = self.used_ns[step.workload]
            counts = (10_000_000, used_ns, 0, *[None] * 6)
            yield Runs([Run(seq, step.workload, 0, step.round, step.padding, 0, *counts, "ok", 0, 0)])


@pytest.mark.parametrize(("used_ns", "busy"), [(1, 0.01), (2_500_000, 0.25), (15_000_000, 1.5), (90_000_000, 4)])
def test_cpus_that_a_program_keeps_busy(tmp_path, monkeypatch, used_ns, busy):
    monkeypatch.setattr(hosts, "open", lambda name: ScriptedHost())
    measured = becalm.measure_programs([f"use {used_ns}"], save=tmp_path / "x.toml", runs=2)
    assert [program.busy for program in measured.programs] == [busy]
