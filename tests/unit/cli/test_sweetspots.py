"""`becalm sweetspots` as it is typed."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.migration.test_sources import LOG

from becalm.cli.main import becalm as group


def call(*words):
    return CliRunner().invoke(group, ["sweetspots", *map(str, words)])


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "t.log"
    path.write_text(LOG)
    return path


def test_a_log_becomes_everything_that_is_written(tmp_path, log):
    names = {name: tmp_path / f"{name}.json" for name in ("csv", "trace", "log")}
    given = [word for name, to in names.items() for word in (f"--{name}", to)]
    told = call("--from", log, "--rules", "published", "--plain", *given)
    assert told.exit_code == 0, told.output
    assert "its working set changes" in told.output
    assert names["log"].read_text() == LOG
    assert names["csv"].read_text().splitlines()[2].startswith("77,5000000,10000000,1000,900,500,400,1,")
    events = json.loads(names["trace"].read_text())["traceEvents"]
    assert {each["ph"] for each in events} == {"M", "C", "X", "i"}
    assert [each["args"]["ratio"] for each in events if each["ph"] == "C"] == [0.01, 0.9, 0.02]


def test_json_and_markdown(log):
    value = json.loads(call("--from", log, "--json").stdout)
    assert (value["kind"], value["source"], len(value["windows"])) == ("sweetspots", "log", 3)
    assert "task" in call("--from", log, "--markdown").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "What is looked at?"),
        (("simulate",), "What is looked at?"),
        (("--from", "x", "simulate", "cpuburner"), "--from FILE is of what was counted"),
        (("simulate", "nothing"), "no workload 'nothing'"),
        (("simulate", "matrixmult:8,1", "--csv", "/nowhere/x"), "cannot be written"),
        (("simulate", "matrixmult:8,1", "--window", "1h"), "A window has 0.1 to 50 ms"),
    ],
)
def test_what_is_refused(words, said):
    told = call(*words)
    assert told.exit_code != 0
    assert said in f"{told.output}{told.exception}"
