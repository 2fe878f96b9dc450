"""tools/programs.toml has a row for every program that is called, and installing asks first."""

import functools
import re

import program_calls
import programs
import pytest
from tests.places import ROOT

ROWS = {program: row for row in programs.table() for program in row.programs}


@functools.cache
def texts(*folders):
    """Return the texts of all Python files below these folders, by path."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


@functools.cache
def calls(folder):
    """Return path and name of each program that a folder calls and that not every Debian has."""
    present = programs.always() | {"becalm"}
    return {
        (path, name)
        for path, text in texts(folder).items()
        for _, name in program_calls.called(text)
        if name not in present
    }


def test_every_program_that_is_called_has_a_row():
    folders = ("tests", "bench", "tools", "python/becalm")
    assert {(path, name) for folder in folders for path, name in calls(folder) if name not in ROWS} == set()


def test_the_table_tells_what_becalm_needs_a_program_for():
    assert {(path, name) for path, name in calls("python/becalm") if not ROWS[name].becalm} == set()


@pytest.mark.parametrize(
    ("tier", "folder"), [("system", "tests/system/"), ("measurement", "tests/measurement/"), ("bench", "bench/")]
)
def test_programs_that_a_tier_calls_are_installed_for_it(tier, folder):
    """tools/check_tests.py checks the other tiers."""
    names = {program for row in programs.needed(tier) for program in row.programs}
    called = calls(folder.partition("/")[0])
    assert {(path, name) for path, name in called if path.startswith(folder) and name not in names} == set()


def test_every_row_is_needed_and_every_program_is_in_one_row():
    rows = programs.table()
    assert len({row.name for row in rows}) == len(rows)
    assert len(ROWS) == sum(len(row.programs) for row in rows)
    assert {tier for row in rows for tier in row.tiers} <= set(programs.TIERS)
    words = set(re.findall(r"[\w.+-]+", "\n".join(texts("tests", "bench").values())))
    for row in rows:
        assert row.tiers or row.packages, f"no tier needs {row.name}"
        assert row.makes or row.packages or row.becalm or words & set(row.programs), f"nothing calls {row.name}"


def test_the_contract_tier_needs_a_c_compiler_and_python_only():
    assert {row.name for row in programs.needed("contract")} == {"gcc", "libc6-dev", "python3-venv"}


def test_every_tier_can_be_built():
    for tier in programs.TIERS:
        assert set(programs.needed("contract")) <= set(programs.needed(tier))


def test_programs_that_could_be_installed_are_asked_for_in_one_way():
    """A plain skip would pass on CI, too."""
    skip = re.compile(r"importorskip|skipif\(.*which\(|skip\(.*not installed")
    allowed = {"tests/needs.py", "tests/unit/test_needs.py", "tests/unit/tools/test_programs.py"}
    assert {path for path, text in texts("tests").items() if skip.search(text)} <= allowed


def test_the_engine_calls_nothing_that_has_no_row():
    for path in (ROOT / "crates").rglob("*.rs"):
        for program in re.findall(r'Command::new\("([^"]+)"\)', path.read_text()):
            name = program.rpartition("/")[2]
            known = name in programs.always() or (name in ROWS and (ROWS[name].becalm or ROWS[name].makes))
            assert known or name == "init", f"{path} calls {program}"


def test_packages_that_becalm_advises_are_in_the_table():
    packages = {row.name for row in programs.table() if row.becalm}
    advised = set()
    for text in texts("python/becalm").values():
        advised |= set(re.findall(r"apt(?:-get)? install ([a-z][a-z0-9.+-]+[a-z0-9])", text))
    assert advised
    assert advised <= packages


def test_programs_are_recognised_where_they_are_called():
    text = """
subprocess.run(["/usr/bin/zstd", "-q"])
shutil.which("perf")
need("sadf", "sar")
@pytest.mark.needs("vmstat")
def test(): subprocess.run([sys.executable, "x"]); other.run(["none"])
"""
    assert sorted(program_calls.called(text)) == [(2, "zstd"), (3, "perf"), (4, "sadf"), (4, "sar"), (5, "vmstat")]


def test_installed_packages_are_read_from_dpkg():
    assert programs.installed_names("a installed\nb config-files\nc not-installed\nd installed\n") == {"a", "d"}


def test_dependencies_are_read_from_a_simulation():
    text = "Reading…\nInst libb (1.0 Debian:13 [amd64])\nInst a [0.9] (1.0)\nConf libb (1.0)\nConf a (1.0)\n"
    assert programs.simulated_names(text) == ["a", "libb"]


@pytest.mark.parametrize(
    ("environment", "answer", "expected"),
    [
        ({"CI": "true"}, None, True),
        ({"YES": "1"}, None, True),
        ({}, None, False),
        ({"CI": "", "YES": "0"}, "", False),
        ({}, "n", False),
        ({}, "y", True),
        ({}, " Yes ", True),
    ],
)
def test_packages_are_installed_only_after_a_yes(environment, answer, expected):
    questions = []
    ask = None if answer is None else lambda question: questions.append(question) or answer
    assert programs.agreed(122, environment, ask) == expected
    assert questions == ([] if answer is None else ["Install these 122 packages with apt-get? [y/N] "])


@pytest.mark.parametrize("words", [[], ["install"], ["missing", "all"], ["remove", "system"]])
def test_other_commands_are_refused(words, capsys):
    assert programs.main(words) == 2
    assert "usage: tools/programs.py list|missing|install" in capsys.readouterr().err


def test_the_packages_of_a_tier_are_listed(capsys):
    assert programs.main(["list", "contract"]) == 0
    assert capsys.readouterr().out.split() == ["gcc", "libc6-dev", "python3-venv"]
