"""Every source of programs, through the suite of sources; those that are asked for benchmarks in tests/contract."""

import importlib

import pytest
from tests.places import ROOT
from tests.suites.workloads import *  # noqa: F403
from tests.suites.workloads import kinds

from becalm import workloads
from becalm.errors import BecalmError, UsageError


@pytest.fixture(params=kinds(started=False))
def kind(request):
    return request.param


@pytest.mark.parametrize("source", [row.kind for row in workloads.TABLE])
def test_an_empty_name_is_refused_in_a_sentence(source):
    for text in (f"{source}:", f"{source}:  "):
        with pytest.raises(UsageError, match=r"Write it like"):
            workloads.open([text])


@pytest.mark.parametrize("source", [row.kind for row in workloads.TABLE if row.kind != "command"])
def test_a_missing_workload_is_refused_before_anything_runs(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(tmp_path))
    with pytest.raises(BecalmError) as caught:
        workloads.open([f"{source}:{tmp_path}/nothing-there"])
    assert "nothing-there" in str(caught.value)
    assert str(caught.value).rstrip().endswith((".", "py", "there"))


def test_every_row_has_words_an_example_and_an_opener():
    for row in workloads.TABLE:
        assert row.what
        assert row.example.startswith(f"{row.kind}:") or row.kind == "command"
        assert callable(getattr(importlib.import_module(row.module), row.opener))


def test_the_documentation_has_every_row():
    text = (ROOT / "docs/how-to/sources.md").read_text()
    for row in workloads.TABLE:
        assert f"| `{row.kind}` |" in text, row.kind
