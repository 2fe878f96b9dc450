"""A test that needs a program or module that is not there is skipped; with CI=true it fails."""

from types import SimpleNamespace

import programs
import pytest
from tests import needs
from tests.places import ROOT

PROGRAM, REASON = "sadf", "sadf is not installed: apt-get install sysstat"
"""A program of the table, and what a test that needs it reports where it is missing."""

SKIPPED, FAILED = pytest.skip.Exception, pytest.fail.Exception
OUTCOMES = pytest.mark.parametrize(("strict", "outcome"), [(False, SKIPPED), (True, FAILED)])


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Return the only directory in which programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "SYSTEM", "")
    return tmp_path


@pytest.fixture
def setup(request):
    """Return the hook of tests/conftest.py that runs before every test."""
    (plugin,) = (
        plugin
        for plugin in request.config.pluginmanager.get_plugins()
        if getattr(plugin, "__file__", "") == str(ROOT / "tests/conftest.py")
    )
    return plugin.pytest_runtest_setup


@OUTCOMES
def test_a_missing_program_ends_the_test(directory, monkeypatch, strict, outcome):
    monkeypatch.setattr(needs, "STRICT", strict)
    with pytest.raises(outcome, match=REASON):
        needs.need(PROGRAM)


@OUTCOMES
def test_a_missing_program_of_a_mark_ends_the_test_before_it_begins(directory, setup, monkeypatch, strict, outcome):
    monkeypatch.setattr(needs, "STRICT", strict)
    item = SimpleNamespace(iter_markers=lambda name: [pytest.mark.needs(PROGRAM).mark] if name == "needs" else [])
    with pytest.raises(outcome, match=REASON):
        setup(item)


@OUTCOMES
def test_a_missing_module_ends_the_test(monkeypatch, strict, outcome):
    monkeypatch.setattr(needs, "STRICT", strict)
    with pytest.raises(outcome, match="no_such_module_anywhere cannot be imported"):
        needs.need_module("no_such_module_anywhere")


def test_a_program_of_the_table_is_returned(directory):
    (directory / PROGRAM).touch(mode=0o755)
    assert needs.need(PROGRAM) == str(directory / PROGRAM)


def test_programs_that_the_readme_asks_for_need_no_row(directory):
    """`make criterion` asks for cargo, which may come from rustup."""
    for name in ("cargo", "sh"):
        (directory / name).touch(mode=0o755)
    assert needs.need("cargo", "sh") == str(directory / "cargo")
    unknown = "no-such-program"
    with pytest.raises(KeyError):
        needs.need(unknown)
