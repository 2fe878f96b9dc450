"""Small things that people look for: sorted tables, one unit, hooks for each program, shells, man, hints."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli import candidates, manual
from becalm.cli.main import _hint
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.nouns.options.measuring import ComparedPrograms
from becalm.nouns.workload import Workload, split
from becalm.report import sort_order
from becalm.verbs.compare import programs_of
from becalm.wording import numbers


@pytest.fixture(autouse=True)
def as_usual(store):
    yield
    sort_order.sort_by("auto")
    numbers.time_unit("")


def invoke(*words):
    return CliRunner().invoke(group, list(words))


COMPARED = ("compare", "--host", "sim:normal", "--seed", "1", "--runs", "8", "spin 30ms", "spin 10ms", "spin 20ms")


@pytest.mark.parametrize(
    ("sort", "first"), [("given", "spin 30ms"), ("name", "spin 10ms"), ("time", "spin 10ms"), ("auto", "spin 10ms")]
)
def test_tables_are_sorted_as_asked(sort, first):
    text = invoke(*COMPARED, "--sort", sort, "--markdown").output
    rows = [line for line in text.splitlines() if line.startswith("| `spin")]
    assert rows[0].startswith(f"| `{first}`")


def test_times_in_one_unit():
    text = invoke(*COMPARED, "--time-unit", "us", "--markdown").output
    assert "µs" in text
    assert " ms " not in text.split("## ")[0].partition("| program")[2]
    # The next command has its own.
    assert " ms " in invoke(*COMPARED, "--markdown").output


def test_one_prepare_for_all_or_one_for_each():
    def prepared(commands, prepare=None, **values):
        programs = programs_of(commands, ComparedPrograms.of(values), {"prepare": prepare})
        return [program.prepare for program in programs]

    assert prepared(["a", "b"], prepares=["sync now"]) == [("sync", "now")] * 2
    assert prepared(["a", "b"], prepares=["one", "two"]) == [("one",), ("two",)]
    assert prepared(["a {n}"], parameters={"n": "1,2"}, prepares=["clean {n}"]) == [("clean", "1"), ("clean", "2")]
    with pytest.raises(UsageError, match="3 programs but 2 prepare commands"):
        prepared(["a", "b", "c"], prepares=["one", "two"])
    with pytest.raises(UsageError, match="Leave one out"):
        prepared(["a", "b"], prepares=["one"], prepare="two")


def test_a_name_for_all_variants():
    compared = ComparedPrograms.of({"parameters": {"n": "1..3"}, "names": ["level {n}"]})
    workloads = programs_of(["xz -{n}"], compared, {})
    assert [workload.name for workload in workloads] == ["level 1", "level 2", "level 3"]
    with pytest.raises(UsageError, match="3 programs but 1 names"):
        programs_of(["xz -{n}"], replace(compared, names=("level",)), {})


def test_another_shell_runs_commands_and_hooks():
    workload = Workload.of("a | b", shell_program="bash -o pipefail", prepare="c > d")
    assert workload.argv == ("bash", "-o", "pipefail", "-c", "a | b")
    assert workload.prepare == ("bash", "-o", "pipefail", "-c", "c > d")
    assert Workload.of("a | b", shell=True).argv == ("/bin/sh", "-c", "a | b")
    assert split("a b") == ("a", "b")
    for command, message in ((" ", "is empty"), ("'", "cannot be split")):
        with pytest.raises(UsageError, match=message):
            Workload.of("a", shell_program=command)


def test_setup_travels_and_is_kept():
    workload = Workload.of("a", setup="make data")
    assert workload.to_wire()["setup"] == ["make", "data"]
    assert Workload.from_json(workload.to_json()) == workload
    assert "setup" not in Workload.of("a").to_wire()


def test_the_manual_page_has_every_verb_and_option():
    text = manual.page(group)
    for verb in ("compare", "run", "tune", "design central"):
        assert f".SS becalm {verb}" in text
    assert "\\-\\-fail\\-above" in text
    # Nothing of a help text is taken for a request.
    requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "prog", "--level"), "run … -- PROGRAM"),
        (("watch", "prog", "--level"), "watch … -- PROGRAM"),
        (("tune", "prog", "--level"), "tune … -- PROGRAM"),
        (("survey", "prog", "--level"), "survey … -- PROGRAM"),
        (("apply", "prog", "--level"), "apply … -- PROGRAM"),
        (("simulate", "prog", "--level"), "simulate … -- PROGRAM"),
        (("load", "prog", "--level"), "load … -- PROGRAM"),
        (("compare", "a", "b", "--level"), "'PROGRAM …' 'PROGRAM …'"),
    ],
)
def test_an_unknown_option_says_where_those_of_a_program_belong(words, message):
    done = CliRunner().invoke(group, list(words), standalone_mode=False)
    assert message in _hint(done.exception)


def test_a_command_without_a_program_says_nothing_of_one():
    done = CliRunner().invoke(group, ["list", "--level"], standalone_mode=False)
    assert "PROGRAM" not in _hint(done.exception)


def test_completion_of_studies_methods_and_hosts():
    becalm.run("spin 20ms", host="sim:normal", runs=3, seed=1)
    assert [study.value for study in candidates.studies("")] == ["last", "1"]
    assert candidates.studies("1")[0].help == "run: spin 20ms"
    assert "race" in [method.value for method in candidates.methods("ra")]
    becalm.add_host("lab", "ssh://ada@lab")
    assert [host.value for host in candidates.hosts("l")] == ["lab", "local"]
