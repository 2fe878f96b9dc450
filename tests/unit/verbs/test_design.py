"""`becalm design` as functions and as commands."""

import inspect
import json

import click
import pytest
from click.testing import CliRunner
from tests.support.pages import undrawn  # noqa: F401
from tests.unit.analysis.test_design_fit import CHEMREACT

import becalm
from becalm.cli.main import becalm as group

RANGES = ["time=80..90min", "temp=170..180C"]


def run(*arguments):
    return CliRunner().invoke(group, ["design", *arguments])


def test_a_design_goes_out_as_a_file_and_comes_back(tmp_path):
    printed = run("central", *RANGES, "--seed", "3", "--response", "yield", "--csv")
    assert printed.exit_code == 0
    design = becalm.design("central", RANGES, seed=3, responses=["yield"])
    assert printed.stdout == design.csv
    head, *lines = printed.stdout.splitlines()
    assert head == "run,standard,block,point,time=80..90min,temp=170..180C,yield"
    file = tmp_path / "runs.csv"
    response = {run.run: 80 - run.coded[0] ** 2 - 2 * run.coded[1] ** 2 + 0.1 * run.coded[0] for run in design.runs}
    file.write_text("\n".join([head, *(f"{line}{response[int(line.split(',')[0])]}" for line in lines)]))
    fit = becalm.fit_design(file, goals={"yield": "max"})
    assert fit.responses[0].best.at.levels == pytest.approx((85.25, 175.0), abs=1e-4)


def test_factors_may_be_values():
    knob = becalm.Factor("slice", 0.1, 100.0, "ms", becalm.Factor.parse("x=1..2:log").scale)
    assert becalm.design("central", [knob, "n=1..64:whole"], seed=1).factors[0] == knob


def test_without_a_seed_the_order_is_another_each_time():
    orders = {
        tuple(run.standard for run in becalm.design("factorial", ["a=0..1", "b=0..1", "c=0..1"]).runs) for _ in range(8)
    }
    assert len(orders) > 1


def test_runs_beyond_the_ranges_are_reported():
    (finding,) = becalm.design("central", RANGES, seed=1).findings
    assert finding.kind == "outside_range"
    assert "77.9289 min to 92.0711 min" in finding.sentence
    assert becalm.design("central", RANGES, seed=1, alpha="inscribed").findings == ()


@pytest.mark.usefixtures("undrawn")
def test_every_way_to_print(tmp_path):
    file = tmp_path / "chem.csv"
    file.write_text(CHEMREACT)
    result = run("fit", str(file), "--goal", "Yield=max", "--plain")
    assert result.exit_code == 0
    assert "Yield: quadratic model, R2 0.998" in result.output
    assert "Analysis of variance" in result.output
    assert run("fit", str(file), "--quiet").output.count("\n") == 1
    document = json.loads(run("fit", str(file), "--json").stdout)
    assert document["responses"][0]["model"] == "quadratic"
    assert document["becalm"]
    assert run("fit", str(file), "--markdown").output.startswith("**Yield: quadratic model")
    page = tmp_path / "fit.html"
    assert run("fit", str(file), "--report", str(page)).exit_code == 0
    assert "<svg" in page.read_text()


def test_a_design_can_be_printed_in_every_way(tmp_path):
    for arguments in ((), ("--json",), ("--markdown",), ("--quiet",), ("--plain",)):
        printed = run("box-behnken", "a=0..1", "b=0..1", "c=0..1", "--seed", "1", *arguments)
        assert printed.exit_code == 0, printed.output
        assert printed.output
    assert run("factorial", "a=0..1", "b=0..1", "--report", str(tmp_path / "design.html")).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("central", "time"), "'time' has no range"),
        (("central", "a=0..1", "--csv"), "2 to 15 numeric factors"),
        (("central",), "needs factors"),
        (("central", *RANGES, "--csv", "--json"), "contradict"),
        (("central", *RANGES, "--centre", "many"), "--centre is a number"),
        (("fit", "/nowhere/x.csv"), "cannot be read"),
        (("fit", "/dev/null"), "is empty"),
        (("fit", "/dev/null", "--transform", "much"), "--transform is a power"),
        (("fit", "/dev/null", "--goal", "y=low"), "not a goal of y"),
    ],
)
def test_invalid_arguments_are_refused_in_a_sentence(arguments, message):
    with pytest.MonkeyPatch.context():
        result = run(*arguments)
    text = result.output + str(result.exception)
    assert result.exit_code != 0
    assert message in text


def test_files_that_are_no_text(tmp_path):
    workbook = tmp_path / "runs.xlsx"
    workbook.write_bytes(b"PK\x03\x04\xff\x00\x00\x00")
    with pytest.raises(becalm.UsageError, match="not as a workbook"):
        becalm.fit_design(workbook)
    old = tmp_path / "old.csv"
    old.write_bytes(CHEMREACT.replace("180C", "180°C").encode("cp1252"))
    assert becalm.fit_design(old).factors[1].unit == "°C"
    huge = tmp_path / "huge.csv"
    huge.write_bytes(b"a=0..1,y\n" + b"0,1\n" * (5 << 20))
    with pytest.raises(becalm.UsageError, match="16 MiB"):
        becalm.fit_design(huge)


def test_an_unknown_option_is_told_with_the_nearest():
    with pytest.raises(becalm.UsageError, match="Did you mean 'alpha'"):
        becalm.design("central", RANGES, alfa=1.0)


@pytest.mark.parametrize("name", ["factorial", "central", "box-behnken", "fit"])
def test_every_option_of_a_command_is_a_keyword_of_its_function(name):
    from becalm.cli.design import command_design

    function = becalm.fit_design if name == "fit" else becalm.design
    options = {param.name for param in command_design.commands[name].params if isinstance(param, click.Option)}
    typed = options - {
        *("as_json", "markdown", "quiet", "plain", "report", "overwrite", "as_csv", "raw", "standard_order"),
    }
    assert typed <= set(inspect.signature(function).parameters)
    assert ("standard_order" in options) == (name != "fit"), "it is randomize=False"
