"""Sweet spots that becalm-sim detects, as they are typed."""

import json

import pyarrow.parquet
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.count_files import LOG

import becalm
from becalm.cli.main import becalm as group
from becalm.migration.sweetspots import COLUMNS
from becalm.report import forms
from becalm.wording.numbers import duration


def call(*words):
    return CliRunner().invoke(group, ["sweetspots", *map(str, words)])


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "t.log"
    path.write_text(LOG)
    return path


def test_a_log_becomes_everything_that_is_written(tmp_path, log):
    names = {name: tmp_path / f"{name}.json" for name in ("csv", "trace", "log")}
    arguments = [word for name, to in names.items() for word in (f"--{name}", to)]
    result = call("--from", log, "--rules", "published", "--plain", *arguments)
    assert result.exit_code == 0, result.output
    assert "its working set changes" in result.output
    assert names["log"].read_text() == LOG
    assert names["csv"].read_text().splitlines()[2].startswith("77,5000000,10000000,1000,900,500,400,1,")
    events = json.loads(names["trace"].read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "C", "X", "i"}
    assert [event["args"]["ratio"] for event in events if event["ph"] == "C"] == [0.01, 0.9, 0.02]


def test_windows_are_written_as_parquet_with_their_kinds(tmp_path, log):
    to = tmp_path / "windows.parquet"
    assert call("--from", log, "--parquet", to).exit_code == 0
    table = pyarrow.parquet.read_table(to)
    assert table.column_names == list(COLUMNS)
    assert table.column("references").to_pylist() == [row["references"] for row in becalm.sweetspots(log).windows()]
    assert (str(table.schema.field("misses").type), str(table.schema.field("known").type)) == ("int64", "bool")


def test_times_of_a_recording_begin_with_it_and_those_of_a_log_are_its_own(log):
    spotted = becalm.sweetspots(log, rules="published")
    first = spotted.spots[0]["time_ns"]
    assert duration(first) in forms.as_markdown(spotted)
    clock = {**spotted.detection, "from_ns": first - 1_234_000}
    assert duration(1_234_000) in forms.as_markdown(replace(spotted, source="live", detection=clock))


def test_json_and_markdown(log):
    value = json.loads(call("--from", log, "--json").stdout)
    assert (value["kind"], value["source"], len(value["windows"])) == ("sweetspots", "log", 3)
    assert "task" in call("--from", log, "--markdown").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("simulate", "matrixmult:8,1", "--csv", "/nowhere/x"), "cannot be written"),
        (("simulate", "matrixmult:8,1", "--window", "1h"), "A window has 0.01 to 50 ms"),
    ],
)
def test_refusals_of_the_engine_or_a_file_are_reported(words, sentence):
    ended = call(*words)
    assert ended.exit_code != 0
    assert sentence in f"{ended.output}{ended.exception}"


def test_a_move_and_what_became_of_it_are_typed_and_told(log, monkeypatch):
    """With a value, without one, and before a command."""
    import becalm as package

    real, requests = package.sweetspots(log, rules="published"), []
    moved = {"spot": 1}
    done = {"sentence": "Process 77 was moved.", "remarks": ["Counted: x."], "waited": moved}
    migration = {"program": 0, "time_ns": 6_000_000, "from": 0, "to": 1, "until_ns": 7_000_000}
    cost = {"excess_misses": 40.0, "error": 5.0, "excess_references": None, "references_error": None}
    moves = [
        {"done": done, "why_not": None, "migrations": [1]},
        {"done": None, "why_not": "It ended.", "migrations": []},
    ]

    def recorded(command, **options):
        requests.append((command, options["migrate"], options.get("limit")))
        content = {**real.detection, "migrations": [{**migration, **cost, "from": 1, "to": 0}, {**migration, **cost}]}
        return replace(real, detection={**content, "move": moves[min(1, len(requests) - 1)]})

    monkeypatch.setattr(package, "record_sweetspots", recorded, raising=False)
    result = call("--migrate", "--plain", "--", "gzip", "x")
    assert result.exit_code == 0, result.output
    assert "Process 77 was moved.\nCounted: x.\n" in result.stderr
    rows = [line for line in result.stderr.splitlines() if "40 +- 10" in line]
    assert [line.split()[-1] == "becalm" for line in rows] == [False, True]
    result = call("--migrate", "2-3", "--limit", "20ms", "--pid", "7", "--markdown")
    assert "Not moved: It ended." in result.output
    assert requests == [(["gzip", "x"], "least-loaded", None), (None, "2-3", "20ms")]
