"""The command line: what it takes, what it refuses, what it prints, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from becalm._version import SCHEMA
from becalm.cli.main import VERBS, becalm
from becalm.errors import UsageError
from becalm.workloads.parameters import expand, values


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "becalm", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BECALM_STORE", raising=False)
    return tmp_path


def test_every_verb_has_help_with_an_example_or_a_purpose():
    for verb in VERBS:
        result = CliRunner().invoke(becalm, [verb, "--help"])
        assert result.exit_code == 0, result.output
        assert "Usage: becalm" in result.output


def test_common_options_have_one_name_everywhere():
    wanted = {"--runs", "--budget", "--precision", "--warmup", "--seed", "--output", "--host", "--store", "--json"}
    for verb in ("run", "compare"):
        known = {name for option in becalm.get_command(None, verb).params for name in option.opts}
        assert wanted <= known, verb


@pytest.mark.parametrize("verb", [(), ("run",), ("host", "list")])
def test_short_help(verb):
    found = CliRunner().invoke(becalm, [*verb, "-h"])
    assert found.exit_code == 0
    assert "Usage:" in found.output


def test_alone_it_helps():
    result = CliRunner().invoke(becalm, [])
    assert result.exit_code == 0
    assert "Verbs:" in result.output


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
        (["compare", "--parameter", "n=a..b", "true {n}"], "'a..b' is no range of numbers. Write it like 1..8"),
        (["compare", "--parameter", "n=1..2..-1", "true {n}"], "'1..2..-1' is no range of numbers"),
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
def test_what_is_refused_is_said_in_a_sentence(home, arguments, words):
    found = command(*arguments)
    assert found.returncode == 2, found.stderr
    assert words in found.stderr
    assert found.stderr.startswith("becalm: ")
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_compare_prints_a_verdict_and_json(home):
    arguments = ("compare", *SIM, "--budget", "20s", "spin 20ms", "spin 21ms")
    plain = command(*arguments, "--plain")
    assert plain.returncode == 0
    assert "spin 21ms is" in plain.stdout
    assert "% slower than spin 20ms" in plain.stdout
    assert plain.stdout.isascii()
    quiet = command(*arguments, "--quiet")
    assert len(quiet.stdout.splitlines()) == 1
    value = json.loads(command(*arguments, "--json").stdout)
    (found,) = value["differences"]
    assert 0.03 < found["low"] < found["estimate"] < found["high"] < 0.07
    assert {"wall_ns", "user_ns", "system_ns"} <= set(value["runs"]["columns"])
    assert value["kind"] == "compare"
    assert value["schema"] == SCHEMA


def test_fail_above_ends_with_one(home):
    slower = command("compare", *SIM, "--fail-above", "2%", "spin 20ms", "spin 22ms", "--quiet")
    assert slower.returncode == 1
    assert "Over the limit" in slower.stdout
    assert command("compare", *SIM, "--fail-above", "50%", "spin 20ms", "spin 22ms", "--quiet").returncode == 0


def test_a_gate_that_knows_nothing_is_no_success(home):
    pair = ("compare", *SIM, "--fail-above", "2%", "--runs", "6", "spin 20ms", "spin 20.4ms")
    found = command(*pair, "--quiet")
    assert found.returncode == 5
    assert "Undecided: a slowdown of spin 20.4ms above 2.0 % is neither shown nor ruled out" in found.stdout
    assert "in all would decide: --budget" in found.stdout
    assert "--undecided pass" in found.stdout
    accepted = command(*pair, "--undecided", "pass", "--json")
    value = json.loads(accepted.stdout)
    assert accepted.returncode == 0
    assert (value["gate"], value["passed"], value["undecided"]) == ("undecided", None, "pass")
    assert value["decides_ns"] > value["elapsed_ns"]


def test_run_prints_a_summary_and_a_histogram(home):
    found = command("run", *SIM, "--runs", "200", "--plain", "spin 20ms")
    assert found.returncode == 0, found.stderr
    for words in ("spin 20ms takes", "mean", "median", "spread", "####"):
        assert words in found.stdout
    assert not any(line != line.rstrip() for line in found.stdout.splitlines()[:1])


def test_lines_fit_a_narrow_terminal(home):
    found = command("run", *SIM, "--runs", "50", "--plain", "spin 20ms", COLUMNS="60")
    table = [line for line in found.stdout.splitlines() if line.startswith(("mean", "median", "spread"))]
    assert table
    assert all(len(line.rstrip()) <= 60 for line in table)


def test_list_show_export_import(home):
    assert "empty" in command("list").stdout
    command("compare", *SIM, "--runs", "20", "spin 20ms", "spin 21ms", "--title", "first try")
    listed = json.loads(command("list", "--json").stdout)
    assert listed["studies"][0]["title"] == "first try"
    assert "first try" in command("list").stdout
    shown = command("show", "--plain")
    assert "20 pairs" in shown.stdout
    exported = command("export", "last", "--format", "json").stdout
    path = home / "x.json"
    path.write_text(exported)
    assert "is study 2 now" in command("import", str(path)).stdout
    assert json.loads(command("show", "2", "--json").stdout)["differences"][0]["pairs"] == 20
    assert command("export", "--to", str(home / "no" / "file")).returncode == 2


def test_show_has_the_verdict_as_it_was(home):
    first = command("compare", *SIM, "--budget", "5s", "spin 20ms", "spin 21ms", "--plain").stdout
    assert command("show", "--plain").stdout == first


def test_a_reader_that_leaves_is_no_error(home):
    found = subprocess.run(
        f"{sys.executable} -m becalm run --help | head -1", shell=True, capture_output=True, text=True
    )
    assert found.stderr == ""


def test_a_defect_is_a_sentence(home):
    script = (
        "import becalm.verbs.run as m, becalm.cli.main as c, sys\n"
        "def broken(*a, **k): raise ZeroDivisionError('x')\n"
        "m.run = broken; sys.argv = ['becalm', 'run', 'true']; c.main()"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 3
    assert "defect in becalm" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(home, shell):
    done = command("--install-completion", shell)
    assert done.returncode == 0, done.stderr
    path = done.stdout.split()[1].rstrip(".")
    script = Path(path).read_text()
    assert "_BECALM_COMPLETE" in script
    assert command("--show-completion", shell).stdout.strip() == script.strip()
    assert command("--install-completion", SHELL=f"/bin/{shell}").returncode == 0
    assert command("--install-completion", "tcsh").returncode == 2


def test_completion_completes(home):
    found = command(_BECALM_COMPLETE="bash_complete", COMP_WORDS="becalm comp", COMP_CWORD="1")
    assert "compare" in found.stdout


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
    made = expand(["a {x} {y}", "b {x}"], {"x": "1,2", "y": "p,q"})
    assert [each.name for each in made] == ["a 1 p", "a 1 q", "a 2 p", "a 2 q", "b 1", "b 2"]
    assert made[1].parameters == (("x", "1"), ("y", "q"))


def test_starting_imports_nothing_heavy():
    script = "import sys, becalm.cli.main, becalm.cli.compare, becalm.cli.run; print([m for m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "scipy", "sqlite3", "rich"):
        assert f"'{heavy}'" not in loaded


def test_one_run_has_no_spread(home):
    found = command("run", *SIM, "--runs", "1", "--plain", "spin 20ms")
    (line,) = (line for line in found.stdout.splitlines() if line.startswith("spread"))
    assert "?" in line
    assert "0.00" not in line


def test_a_locale_without_letters_is_no_reason_for_a_stack_trace(home):
    command("run", *SIM, "--runs", "30", "spin 20ms")
    found = command("show", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="")
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    assert "spin 20ms takes" in found.stdout
    assert "ms +- " in found.stdout
    assert "\\x" not in found.stdout
    command("run", *SIM, "--runs", "3", "--name", "café ± 1", "spin 20ms")
    assert "caf\\xe9 +- 1" in command("show", "--plain").stdout
    assert "caf\\xe9 +- 1" in command("list", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="").stdout


def test_help_installs_nothing(home):
    found = command("--install-completion", "--help")
    assert "Usage: becalm" in found.stdout
    assert not any(path.is_file() for path in home.rglob("*"))


def test_a_file_that_lacks_something_is_refused_in_words(home, tmp_path):
    file = tmp_path / "old.json"
    file.write_text('{"results": [{"command": "x"}]}')
    found = command("import", str(file))
    assert found.returncode == 2
    assert "lacks" in found.stderr
    assert "KeyError" not in found.stderr


def test_a_single_setting_that_cannot_be_set_is_refused(home):
    for program in ((), ("--", "true")):
        found = command("apply", "--set", "slice_ns=0" if program else "nice=3", *program)
        assert (found.returncode, "cannot be set here" in found.stderr) in ((3, True), (0, False))
    alone = command("apply", "--set", "nice=3")
    assert alone.returncode == 3
    assert "acts on one program" in alone.stderr
