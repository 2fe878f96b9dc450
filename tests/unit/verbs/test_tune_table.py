"""A table of configurations, machines and values: what to take, and tables that are refused in a sentence."""

import json

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import forms

ROWS = {
    ("8", "on"): (1000, 1010, 990), ("16", "on"): (1300, 600, 1250), ("32", "on"): (1040, 1050, 1045),
    ("8", "off"): (800, "", 790), ("16", "off"): (900, 905, 902), ("32", "off"): (700, 720, 705),
}  # fmt: skip


def table(path, head="pool,cache,machine,requests", rows=ROWS):
    lines = [f"{pool},{cache},{machine},{value}" for (pool, cache), values in rows.items()
             for machine, value in zip("abc", values, strict=True)]  # fmt: skip
    path.write_text("\n".join([head, *lines]) + "\n")
    return str(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.csv"


def test_the_steady_fast_one_is_taken_with_a_promise(path):
    choice = becalm.tune_table(table(path), value="requests", better="higher")
    assert choice.chosen.factors == {"pool": "32", "cache": "on"}
    assert choice.chosen.mean == pytest.approx(1045, rel=1e-3)
    assert 950 < choice.chosen.promise < choice.chosen.worst
    assert choice.units == ("a", "b", "c")
    assert "Take pool=32 cache=on: requests 1,045 on average of 3 machines." in choice.sentence
    assert "at least" in choice.sentence
    failed = next(configuration for configuration in choice.configurations if configuration.failed)
    assert failed.factors == {"pool": "8", "cache": "off"}
    forms.draw_all(choice)


def test_lower_is_better_unless_told_otherwise(path):
    choice = becalm.tune_table(table(path))
    assert choice.chosen.factors == {"pool": "32", "cache": "off"}
    assert choice.chosen.promise > choice.chosen.worst > choice.chosen.mean
    assert "at most" in choice.sentence


def test_a_lottery_with_a_better_mean_is_named(path):
    rows = {**ROWS, ("16", "on"): (1500, 1300, 900)}
    choice = becalm.tune_table(table(path, rows=rows), better="higher")
    assert choice.chosen.factors["pool"] == "32"
    assert "1 configuration with a better mean was not taken: pool=16 cache=on" in choice.sentence


def test_factors_units_and_repeats_are_chosen_by_column(path):
    path.write_text("try,cfg,host,day,time\n1,a,x,1,10\n2,a,x,1,12\n3,a,y,1,11\n4,b,x,1,20\n5,b,y,1,21\n")
    choice = becalm.tune_table(path, factors="cfg")
    assert choice.unit == "host and day"
    assert choice.units == ("x 1", "y 1")
    assert choice.chosen.factors == {"cfg": "a"}
    assert choice.chosen.mean == pytest.approx((120**0.5 * 11) ** 0.5)
    assert becalm.tune_table(path, factors="cfg", units="day").chosen is None


def test_one_unit_tells_nothing_of_another(path):
    path.write_text("cfg,machine,time\na,x,1\nb,x,2\n")
    choice = becalm.tune_table(path)
    assert choice.chosen is None
    assert choice.exit_code == 5
    assert "Measure on another one" in choice.sentence
    forms.draw_all(choice)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a table of factors"),
        ("a,b\n1,2\n", "three columns"),
        ("cfg,place,time\na,x,1\n", "Which column"),
        ("cfg,machine,time\na,x\n", "line 2: 2 cells below 3 columns"),
        ("cfg,machine,time\na,x,fast\n", "line 2: 'fast' is not a number"),
        ("cfg,machine,time\na,x,inf\n", "infinite"),
        ("cfg,machine,time\na,x,\n", "no value above 0"),
        ("cfg,cfg,time\na,x,1\n", "two columns 'cfg'"),
        ("day,machine,time\na,x,1\n", "no column of a factor"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_in_a_sentence(text, message, path):
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        becalm.tune_table(path)


def test_columns_that_do_not_exist_are_refused(path):
    with pytest.raises(UsageError, match=r"no column 'cfg'\. It has pool, cache, machine and requests"):
        becalm.tune_table(table(path), factors="cfg")
    with pytest.raises(UsageError, match="no column 'rps'"):
        becalm.tune_table(str(path), value="rps")


def invoke(*words):
    return CliRunner().invoke(group, ["tune", *map(str, words)])


def test_on_the_command_line(path):
    done = invoke("--from", table(path), "--value", "requests", "--better", "higher", "--json")
    assert done.exit_code == 0
    answer = json.loads(done.output)
    assert (answer["kind"], answer["chosen"]["factors"]["pool"]) == ("configuration choice", "32")
    assert "Take pool=32" in invoke("--from", path, "--better", "higher", "--markdown").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "x.csv", "--runs", "3"), "--runs is for programs that are measured"),
        (("--from", "x.csv", "--", "true"), "The program is for"),
        (("--value", "x", "--", "true"), "--value is about a table"),
    ],
)
def test_no_option_is_ignored(words, message):
    done = invoke(*words)
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
