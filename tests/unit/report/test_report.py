"""The table of reports: every class and module that it names exists, and results do not import reports themselves."""

import importlib

import pytest

from becalm.nouns.result import Result
from becalm.report import REPORTS, has_report, report_of


@pytest.mark.parametrize("name", REPORTS)
def test_every_row_names_a_result_and_a_module_that_draws_it(name):
    module, _, class_name = name.rpartition(".")
    result = getattr(importlib.import_module(module), class_name)
    assert issubclass(result, Result)
    report = importlib.import_module(REPORTS[name])
    assert callable(report.on_terminal)
    assert hasattr(report, "tables") or hasattr(report, "as_html")


def test_a_result_is_looked_up_by_its_class():
    class Verdict(Result):
        """A class that has the name of a result, but not its module."""

    assert not has_report(Verdict())
    with pytest.raises(KeyError):
        report_of(Verdict())


def test_a_notebook_shows_what_verbs_registered(monkeypatch):
    result = Result()
    monkeypatch.setattr(Result, "html", None)
    assert result._repr_html_() is None
    monkeypatch.setattr(Result, "html", staticmethod(lambda value: f"<p>{type(value).__name__}</p>"))
    assert result._repr_html_() == "<p>Result</p>"
