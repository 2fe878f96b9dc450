"""The report of `becalm --version --verbose`, without starting a program."""

import json
import re
import tomllib

import pytest
from click.testing import CliRunner
from tests.places import ROOT

from becalm._version import VERSION
from becalm.cli.main import becalm
from becalm.hosts.own_programs import NAMES, OwnProgram
from becalm.verbs import version

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
AGENT = OwnProgram("becalm-agent", VERSION, "x86_64", True, ("bpf",))
OTHER = OwnProgram("becalm-timers", "", "x86_64", problem="version `GLIBC_2.34' not found")


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    monkeypatch.setattr(version, "own_programs", lambda: [AGENT, OTHER])


@pytest.mark.parametrize("words", [("--version", "--verbose"), ("--verbose", "--version"), ("version", "--verbose")])
def test_the_verbose_version_lists_what_is_inside(words):
    result = CliRunner().invoke(becalm, words)
    assert result.exit_code == 0, result.output
    first, *lines = result.output.splitlines()
    assert first == f"becalm {VERSION}"
    values = {re.split(r"  +", line, maxsplit=1)[0]: line.split("  ")[-1].strip() for line in lines}
    assert {"commit", "package", "Python", "C library", "kernel", "libraries", "extras"} <= values.keys()
    assert values["becalm-agent"] == f"{VERSION}, x86_64, static"
    assert values["becalm-timers"] == "cannot start here: version `GLIBC_2.34' not found"
    assert values["recording by BPF"] == "compiled in"


def test_verbose_alone_is_refused():
    result = CliRunner().invoke(becalm, ["--verbose"])
    assert result.exit_code == 2
    assert "--verbose extends --version" in result.output


def test_a_built_package_knows_its_commit(tmp_path):
    assert dict(version.origin_rows(tmp_path))["commit"] == "unknown"
    (tmp_path / "origin.json").write_text(json.dumps({"commit": "abc", "repository": "https://host.example/o/n"}))
    rows = dict(version.origin_rows(tmp_path))
    assert (rows["commit"], rows["repository"]) == ("abc", "https://host.example/o/n")


def test_a_missing_library_is_reported(monkeypatch):
    monkeypatch.setattr(version, "_installed", lambda name: "" if name in ("rich", "pyarrow") else "1")
    rows = dict(version.python_rows())
    assert "rich (missing)" in rows["libraries"]
    assert rows["not installed"] == "parquet"


def test_an_agent_that_does_not_start_has_no_features():
    assert "recording by BPF" not in dict(version.program_rows([OwnProgram("becalm-agent", "", problem="killed")]))


def names(requirements):
    return tuple(re.split(r"[\s<>=!~;\[]", text, maxsplit=1)[0].lower() for text in requirements)


def test_libraries_and_extras_are_those_of_the_project():
    assert names(PROJECT["dependencies"]) == version.LIBRARIES
    extras = {name: names(needs) for name, needs in PROJECT["optional-dependencies"].items()}
    assert {name: extras[name] for name in version.EXTRAS} == version.EXTRAS
    assert extras.keys() - version.EXTRAS.keys() == {"docs", "dev", "fuzz", "release"}


def test_every_program_of_a_wheel_is_reported():
    assert set(NAMES) == set(re.findall(r'"(becalm-\w+)": (?:STATIC|DYNAMIC)', (ROOT / "setup.py").read_text()))
