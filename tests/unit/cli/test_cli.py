"""The command line: what it takes, what it refuses, what it prints, and how it ends."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from becalm._version import SCHEMA
from becalm.cli.main import HEADINGS, VERBS
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.nouns.workload import Workload
from becalm.workloads.parameters import around, expand, values


def test_every_verb_has_help_with_an_example_or_a_purpose():
    for verb in VERBS:
        result = CliRunner().invoke(group, [verb, "--help"])
        assert result.exit_code == 0, result.output
        assert "Usage: becalm" in result.output


def test_common_options_have_one_name_everywhere():
    wanted = {"--runs", "--budget", "--precision", "--warmup", "--seed", "--output", "--host", "--store", "--json"}
    for verb in ("run", "compare"):
        known = {name for option in group.get_command(None, verb).params for name in option.opts}
        assert wanted <= known, verb


@pytest.mark.parametrize("verb", [(), ("run",), ("host", "list")])
def test_short_help(verb):
    ended = CliRunner().invoke(group, [*verb, "-h"])
    assert ended.exit_code == 0
    assert "Usage:" in ended.output


def test_alone_it_helps():
    result = CliRunner().invoke(group, [])
    assert result.exit_code == 0
    assert all(f"{heading}:" in result.output for heading in HEADINGS)
    assert sorted(" ".join(HEADINGS.values()).split()) == sorted(VERBS)


SIM = ("--host", "sim:drift", "--seed", "1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compair"], "Did you mean 'compare'"),
        (["run"], "Which program"),
        (["run", ""], "empty"),
        (["run", "a 'b"], "quotes"),
        (["run", "--runs", "0", "true"], "at least 1"),
        (["run", "--runs", "x", "true"], "'x'"),
        (["run", "--budget", "soon", "true"], "'soon' is not a duration"),
        (["run", "--budget", "0", "true"], "more than zero"),
        (["run", "--precision", "-1%", "true"], "is not a share"),
        (["run", "--warmup", "-1", "true"], "at least 0"),
        (["run", "--precision", "5", "true"], "5% or as 500%"),
        (["run", "--confidence", "1.5", "true"], "between 0.5 and 1"),
        (["run", "--confidence", "95", "true"], "95%"),
        (["run", "--expect", "256", "true"], "exit codes"),
        (["run", "--set", "nice", "true"], "NAME=VALUE"),
        (["run", "--quiet", "--json", "true"], "contradict"),
        (["run", "--store", "x", "--no-store", "true"], "contradict"),
        (["run", "--user", "x", "--sudo", "true"], "contradict"),
        (["run", "--output", "print", "true"], "inherit"),
        (["run", "--user", "nobodyx", "true"], "no user 'nobodyx'"),
        (["run", "echo hi > x"], "Use --shell"),
        (["compare", "-w", "3", "true", "false"], "Here it is --warmup N"),
        (["run", "-i", "false"], "--expect any"),
        (["run", "pyperf:bench.py"], "There is no file"),
        (["compare", "true", "phoronix:pts/x"], "has no test 'pts/x' installed"),
        (["compare", "-L", "n", "1,2", "sleep {n}"], "Here it is --parameter NAME=1,2,4"),
        (["run", "-L", "n", "1,2", "sleep {n}"], "`becalm compare` has it: --parameter NAME=1,2,4"),
        (["run", "--parameter", "n=1,2", "sleep {n}"], "`becalm compare` has it: --parameter NAME=1,2,4"),
        (["run", "-N", "true"], "without a shell"),
        (["run", "-S", "bash", "true"], "--shell"),
        (["run", "--export-json", "x", "true"], "--report FILE.json"),
        (["run", "--style", "full", "true"], "Here it is --plain, or --quiet"),
        (["compare", "--parameter", "n=a..b", "true {n}"], "'a..b' is not a range of numbers. Write it like 1..8"),
        (["compare", "--parameter", "n=1..2..-1", "true {n}"], "'1..2..-1' is not a range of numbers"),
        (["run", "--host", "sim:nowhere", "true"], "sim:drift"),
        (["run", "--seed", "-5", "true"], "--seed must be at least 0"),
        (["run", "--json", "--output", "inherit", "true"], "--report FILE.json"),
        (["compare"], "Which programs"),
        (["compare", "--fail-above", "2", "true", "true"], "2% or as 200%"),
        (["compare", "true"], "two programs"),
        (["compare", *SIM, "--name", "a", "spin 1ms", "spin 2ms"], "2 programs but 1 names"),
        (["compare", *SIM, "--reference", "7", "spin 1ms", "spin 2ms"], "--reference 7"),
        (["compare", *SIM, "--reference", "x", "spin 1ms", "spin 2ms"], "'x'"),
        (["compare", *SIM, "--parameter", "n=1..3", "spin 1ms"], "appears in no command"),
        (["compare", "--baseline", "/no/such/file", "true"], "/no/such/file"),
        (["show", "77"], "no study 77"),
        (["export", "--format", "xml"], "xml"),
        (["import", "/no/such"], "/no/such"),
    ],
)
def test_refusals_are_sentences(home, becalm, arguments, words):
    ended = becalm(*arguments)
    assert ended.returncode == 2, ended.stderr
    assert words in ended.stderr
    assert ended.stderr.startswith("becalm: ")
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_compare_prints_a_verdict_and_json(home, becalm):
    arguments = ("compare", *SIM, "--budget", "20s", "spin 20ms", "spin 21ms")
    plain = becalm(*arguments, "--plain")
    assert plain.returncode == 0
    assert "spin 21ms is" in plain.stdout
    assert "% slower than spin 20ms" in plain.stdout
    assert plain.stdout.isascii()
    quiet = becalm(*arguments, "--quiet")
    assert len(quiet.stdout.splitlines()) == 1
    value = json.loads(becalm(*arguments, "--json").stdout)
    (difference,) = value["differences"]
    assert 0.03 < difference["low"] < difference["estimate"] < difference["high"] < 0.07
    assert {"wall_ns", "user_ns", "system_ns"} <= set(value["runs"]["columns"])
    assert value["kind"] == "compare"
    assert value["schema"] == SCHEMA


def test_fail_above_ends_with_one(home, becalm):
    slower = becalm("compare", *SIM, "--fail-above", "2%", "spin 20ms", "spin 22ms", "--quiet")
    assert slower.returncode == 1
    assert "Over the limit" in slower.stdout
    assert becalm("compare", *SIM, "--fail-above", "50%", "spin 20ms", "spin 22ms", "--quiet").returncode == 0


def test_a_gate_that_knows_nothing_is_no_success(home, becalm):
    pair = ("compare", *SIM, "--fail-above", "2%", "--runs", "6", "spin 20ms", "spin 20.4ms")
    ended = becalm(*pair, "--quiet")
    assert ended.returncode == 5
    assert "Undecided: a slowdown of spin 20.4ms above 2.0 % is neither shown nor ruled out" in ended.stdout
    assert "in all would decide: --budget" in ended.stdout
    assert "--undecided pass" in ended.stdout
    accepted = becalm(*pair, "--undecided", "pass", "--json")
    value = json.loads(accepted.stdout)
    assert accepted.returncode == 0
    assert (value["gate"], value["passed"], value["undecided"]) == ("undecided", None, "pass")
    assert value["decides_ns"] > value["elapsed_ns"]


def test_run_prints_a_summary_and_a_histogram(home, becalm):
    ended = becalm("run", *SIM, "--runs", "200", "--plain", "spin 20ms")
    assert ended.returncode == 0, ended.stderr
    for words in ("spin 20ms takes", "mean", "median", "spread", "####"):
        assert words in ended.stdout
    assert not any(line != line.rstrip() for line in ended.stdout.splitlines()[:1])


def test_lines_fit_a_narrow_terminal(home, becalm, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ended = becalm("run", *SIM, "--runs", "50", "--plain", "spin 20ms")
    table = [line for line in ended.stdout.splitlines() if line.startswith(("mean", "median", "spread"))]
    assert table
    assert all(len(line.rstrip()) <= 60 for line in table)


def test_list_show_export_import(home, becalm):
    assert "empty" in becalm("list").stdout
    becalm("compare", *SIM, "--runs", "20", "spin 20ms", "spin 21ms", "--title", "first try")
    listed = json.loads(becalm("list", "--json").stdout)
    assert listed["studies"][0]["title"] == "first try"
    assert "first try" in becalm("list").stdout
    shown = becalm("show", "--plain")
    assert "20 pairs" in shown.stdout
    exported = becalm("export", "last", "--format", "json").stdout
    path = home / "x.json"
    path.write_text(exported)
    assert "holds the same as study 1, which did not change" in becalm("import", str(path)).stdout
    other = ("--store", str(home / "other.db"))
    assert "imported as study 1" in becalm("import", *other, str(path)).stdout
    assert json.loads(becalm("show", "1", *other, "--json").stdout)["differences"][0]["pairs"] == 20
    assert becalm("export", "--to", str(home / "no" / "file")).returncode == 2


def test_show_has_the_verdict_as_it_was(home, becalm):
    first = becalm("compare", *SIM, "--budget", "5s", "spin 20ms", "spin 21ms", "--plain").stdout
    assert becalm("show", "--plain").stdout == first


def test_a_defect_is_reported_in_a_sentence(home, becalm, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("x")

    monkeypatch.setattr("becalm.run", broken)
    defect = becalm("run", "true")
    assert defect.returncode == 3
    assert "defect in becalm" in defect.stderr
    assert "Traceback" not in defect.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_and_printed(home, becalm, any_bash, monkeypatch, shell):
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    done = becalm("--install-completion", shell)
    assert done.returncode == 0, done.stderr
    path = done.stdout.split()[1].rstrip(".")
    script = Path(path).read_text()
    assert "_BECALM_COMPLETE" in script
    assert becalm("--show-completion", shell).stdout.strip() == script.strip()
    assert becalm("--install-completion").returncode == 0
    assert becalm("--install-completion", "tcsh").returncode == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1,2,4", ["1", "2", "4"]), ("1..3", ["1", "2", "3"]), ("10..100..30", ["10", "40", "70", "100"]), ("a", ["a"]),
     ("-1..1", ["-1", "0", "1"]), ("0.5, 1", ["0.5", "1"]), ("0.5..2..0.5", ["0.5", "1.0", "1.5", "2.0"])],
)  # fmt: skip
def test_parameter_values(text, expected):
    assert values(text) == expected


@pytest.mark.parametrize("text", ["1,,2", "3..1", "1..5..0", "1..99999999", "0.5..2"])
def test_parameter_values_that_are_none(text):
    with pytest.raises(UsageError):
        values(text)


def test_parameters_make_all_combinations():
    workloads = expand(["a {x} {y}", "b {x}"], {"x": "1,2", "y": "p,q"})
    assert [workload.name for workload in workloads] == ["a 1 p", "a 1 q", "a 2 p", "a 2 q", "b 1", "b 2"]
    assert workloads[1].parameters == (("x", "1"), ("y", "q"))


@pytest.mark.parametrize(("text", "meant"), [("1-4", "1..4"), ("0.5-2.5", "0.5..2.5")])
def test_a_range_with_a_dash_is_asked_about(text, meant):
    with pytest.raises(UsageError, match=rf"is a single value\. For a range write {re.escape(meant)}"):
        values(text)
    assert values("0-1,2-3") == ["0-1", "2-3"], "lists of CPUs"


def test_braces_of_a_value_are_left_alone():
    (workload,) = expand(["p '{x}' '{y}'"], {"x": "{y} {x} {print}", "y": "2"})
    assert workload.argv == ("p", "{y} {x} {print}", "2")


def test_a_parameter_may_stand_in_what_belongs_to_each_run_only():
    workloads = expand(["./a", "./b {n}"], {"n": "1,2"}, elsewhere=["make clean; make LEVEL={n}"])
    assert [workload.name for workload in workloads] == ["./a (n=1)", "./a (n=2)", "./b 1", "./b 2"]
    with pytest.raises(UsageError, match="appears in no command"):
        expand(["./a"], {"n": "1,2"})


def test_parameters_are_filled_in_around_a_program():
    templates = {"setup": "cc -O{n} -o p-{n}", "cleanup": ["rm", "p-{n}"]}
    plain = Workload.of("./p-3", environment={"N": "{n}"}, input="in-{n}", alongside="spin {n}", **templates)
    options = around(replace(plain, parameters=(("n", "3 -g"),)), templates)
    assert options.setup == ("cc", "-O3", "-g", "-o", "p-3", "-g")
    assert options.cleanup == ("rm", "p-3 -g")
    assert (options.environment, options.input) == ((("N", "3 -g"),), "in-3 -g")
    assert options.alongside[0].workload.argv == ("spin", "3 -g")


@pytest.mark.parametrize("command", ["FOO=1 ./old", "A_b2= ./x y"])
def test_an_assignment_in_front_of_a_command_points_to_the_option(command):
    with pytest.raises(UsageError, match="--env "):
        Workload.of(command)
    assert Workload.of(command, shell=True).argv[:2] == ("/bin/sh", "-c")
    assert Workload.of("./a=1 x").argv[0] == "./a=1"


def test_one_run_has_no_spread(home, becalm):
    ended = becalm("run", *SIM, "--runs", "1", "--plain", "spin 20ms")
    (line,) = (line for line in ended.stdout.splitlines() if line.startswith("spread"))
    assert "?" in line
    assert "0.00" not in line


def test_help_installs_nothing(home, becalm):
    ended = becalm("--install-completion", "--help")
    assert "Usage: becalm" in ended.stdout
    assert not any(path.is_file() for path in home.rglob("*"))


def test_a_file_that_lacks_something_is_refused_in_words(home, becalm, tmp_path):
    file = tmp_path / "old.json"
    file.write_text('{"results": [{"command": "x"}]}')
    ended = becalm("import", str(file))
    assert ended.returncode == 2
    assert "lacks" in ended.stderr
    assert "KeyError" not in ended.stderr
