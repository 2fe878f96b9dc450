"""tools/programs.toml names every program that is called, and everyone who calls it."""

import ast
import re
import shutil
import subprocess
import sys

import programs
import pytest
from tests.needs import need
from tests.places import ROOT

CALLS = ("run", "Popen", "check_call", "check_output", "which", "find", "execv", "execvp", "need", "needs")
"""Functions whose first argument is a program, or a list that begins with one."""

ROWS = {program: row for row in programs.table() for program in row.programs}
SOURCES = sorted(
    path for folder in ("tests", "bench", "tools", "python/becalm") for path in (ROOT / folder).rglob("*.py")
)


def called(text):
    """The names of programs that a module calls by a word of its own."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in ("need", "needs"):
            yield from map(word, node.args)
        elif ast.unparse(node.func).startswith(("subprocess.", "os.exec", "shutil.which")) and name in CALLS:
            first = node.args[0]
            yield word(first.elts[0] if isinstance(first, ast.List | ast.Tuple) and first.elts else first)


def word(node):
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return text.rpartition("/")[2]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_program_that_is_called_has_a_row_that_names_the_caller(path):
    name = str(path.relative_to(ROOT))
    for program in sorted(set(called(path.read_text())) - programs.always() - {"", "becalm"}):
        row = ROWS.get(program)
        assert row is not None, f"{name} calls {program}, which is not in tools/programs.toml"
        if name.startswith("python/"):
            assert row.becalm, f"tools/programs.toml does not say what becalm needs {program} for"
        elif not name.startswith("tools/"):
            assert name in row.tests + row.bench, f"{name} calls {program}; name it in the row of {row.name}"


def test_what_could_be_installed_is_asked_for_in_one_way():
    """A plain skip would pass on CI, too."""
    for path in (ROOT / "tests").rglob("*.py"):
        if path not in (ROOT / "tests/needs.py", ROOT / "tests/unit/test_programs.py"):
            assert not re.search(r"importorskip|skipif\(.*which\(|skip\(.*not installed", path.read_text()), path


def test_the_engine_calls_nothing_that_has_no_row():
    for path in (ROOT / "crates").rglob("*.rs"):
        for program in re.findall(r'Command::new\("([^"]+)"\)', path.read_text()):
            name = program.rpartition("/")[2]
            known = name in programs.always() or (name in ROWS and (ROWS[name].becalm or ROWS[name].makes))
            assert known or name == "init", f"{path} calls {program}"


def test_each_row_is_used_and_each_caller_is_there():
    assert len({row.name for row in programs.table()}) == len(programs.table())
    assert len(ROWS) == sum(len(row.programs) for row in programs.table()), "a program is in one row"
    for row in programs.table():
        assert row.makes or row.packages or row.becalm or row.tests or row.bench, f"nobody needs {row.name}"
        for name in row.tests + row.bench:
            text = (ROOT / name).read_text()
            assert any(program in text or "PROGRAM" in text for program in row.programs), f"{name}: {row.name}"


def test_what_becalm_says_to_install_is_in_the_table():
    packages = {row.name for row in programs.table() if row.becalm}
    advised = set()
    for path in (ROOT / "python/becalm").rglob("*.py"):
        advised |= set(re.findall(r"apt(?:-get)? install ([a-z][a-z0-9.+-]+[a-z0-9])", path.read_text()))
    assert advised
    assert advised <= packages


TEST = """
import pytest
from tests.needs import need, need_module

def test_by_need():
    need("sadf")

@pytest.mark.needs("sadf")
def test_by_mark():
    pass

def test_by_module():
    need_module("no_such_module_anywhere")

def test_what_is_there():
    assert need("mount").endswith("mount")
"""


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 passed, 3 skipped"), ("true", "2 failed, 1 passed, 1 error")])
def test_what_is_missing_is_skipped_and_on_ci_a_failure(tmp_path, ci, outcome):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mount").symlink_to("/bin/true")
    test = tmp_path / "test_missing.py"
    test.write_text(TEST)
    code = (
        "import sys, pytest, programs; programs.SYSTEM = ''; "
        "sys.exit(pytest.main(['-q', '-p', 'tests.conftest', '-c', sys.argv[2], sys.argv[1]]))"
    )
    path = ":".join(str(ROOT / each) for each in ("", "tools", "python"))
    done = subprocess.run(
        [sys.executable, "-c", code, test, ROOT / "pyproject.toml"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": str(tmp_path / "bin"), "CI": ci, "PYTHONPATH": path},
    )
    assert outcome in done.stdout, done.stdout + done.stderr
    assert "sadf is not installed: apt-get install sysstat" in done.stdout


def test_missing_packages_are_said_and_on_ci_refused(monkeypatch, capsys):
    row = programs.Package("no-such-package-at-all", ("no-such-program",))
    monkeypatch.setattr(programs, "missing", lambda: iter([row]))
    monkeypatch.setattr(programs.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("CI", "")
    assert programs.install() == 0
    assert "Not installed: no-such-package-at-all. The tests that need them will be skipped" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    assert programs.install() == 1


def test_what_the_readme_asks_for_is_found_without_a_row():
    """`make criterion` asks for cargo, which no package of Debian's brings."""
    assert need("cargo", "sh") == shutil.which("cargo")
    unknown = "no-such-program"
    with pytest.raises(KeyError):
        need(unknown)
