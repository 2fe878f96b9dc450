"""The commands of placement that becalm-sim answers."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.analysis.corun_cases import profile
from tests.unit.analysis.test_place_gain import SOLO, TRUE
from tests.unit.cli.test_place import typed

from becalm.cli.place import command_place as shipped
from becalm.results.place_costs import Chip

FOUR = ("lbm", "mcf", "povray", "namd", "--chips", "2/2")


CHIPS = (Chip(2, cpus=(0, 1)), Chip(2, cpus=(2, 3)))


def placed(tmp_path, *words):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile(TRUE, SOLO, chips=CHIPS, machine={}).to_json()))
    done = CliRunner().invoke(shipped, [str(path), "--host", "sim:laptop-a", *words])
    assert done.exit_code == 0, done.output
    return done


def test_a_profile_is_placed(tmp_path):
    words = " ".join(placed(tmp_path, "--plain").output.split())
    assert "These share a chip: t0 with t1; t2 with t3." in words
    assert "The placement minimises" not in words
    assert "The placement minimises" in " ".join(placed(tmp_path, "--plain", "--explain").output.split())
    value = json.loads(placed(tmp_path, "--json").stdout)
    assert value["kind"] == "placement-advice"
    assert value["sharing"]


def test_a_placement_is_reported(tmp_path):
    page, text = tmp_path / "placed.html", tmp_path / "placed.md"
    assert f"Report: {page}" in placed(tmp_path, "--report", str(page)).stderr
    shown = page.read_text()
    # Each pair's loss stands in the square, and who shares is framed.
    assert shown.count("<svg") == 2
    assert "Loss of each program next to each other one" in shown
    assert ">t3<" in shown
    assert "over the worst" in shown
    placed(tmp_path, "--report", str(text))
    assert text.read_text() == placed(tmp_path, "--markdown").stdout
    assert "| t0, t1 |" in text.read_text()
    done = CliRunner().invoke(shipped, ["--apply", "--pids", "--report", str(page)])
    assert "--report belongs to the advice itself" in str(done.exception)


def test_a_placement_is_exported(tmp_path):
    done = placed(tmp_path, "--export", "taskset")
    assert "taskset -c 0,1 t0 &" in done.stdout
    assert "Run it with sh" in done.stderr
    value = json.loads(placed(tmp_path, "--export", "systemd", "--json").stdout)
    assert value["kind"] == "placement-export"
    assert len(value["files"]) == 4


def test_methods_are_shown_with_what_they_lose_and_where_it_is_from():
    done = typed("simulate", *FOUR, "--plain")
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert words.startswith("In the model, 4 programs lose ")
    assert "Nothing was measured." in words
    assert "20 GB/s to memory and 20 cycles a line and queue, chosen and not measured" in words
    for method in ("optimal", "swap", "di", "di-lp", "linux", "random"):
        assert f"{method} " in done.output
    # Trained on eight tasks alone.
    assert "mlp: The placement mlp was trained on eight single tasks" in words


def test_as_json_and_markdown():
    done = typed("simulate", *FOUR, "--method", "optimal", "--method", "di", "--json")
    document = json.loads(done.output)
    assert document["kind"] == "placement-trials"
    assert [row["method"] for row in document["rows"]] == ["optimal", "di"]
    best = document["rows"][0]
    assert best["placement"]["gap"] == pytest.approx(0, abs=1e-12)
    assert best["played"]["mean"] == pytest.approx(best["placement"]["cost"])
    assert "| method | lost on average |" in typed("simulate", *FOUR, "--method", "di", "--markdown").output


def test_threads_of_cores_are_typed_as_a_product():
    done = typed("simulate", "lbm", "mcf", "povray", "--chips", "1x2/1", "--method", "optimal", "--json")
    assert json.loads(done.output)["chips"][0] == {"cores": 1, "threads": 2, "node": 0, "cpus": []}
