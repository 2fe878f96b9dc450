"""The server without the SDK of the protocol, and what it reports of the progress of a measurement."""

import sys

import pytest

import becalm
from becalm.errors import UsageError
from becalm.results.progress import Progress, SearchProgress
from becalm.verbs.mcp import Reporter


def test_without_the_sdk_the_way_to_install_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    with pytest.raises(UsageError, match=r"needs the Python SDK of the protocol: .* -m pip install mcp"):
        becalm.serve_mcp()


def test_an_unknown_degree_of_consent_is_refused(monkeypatch):
    for name in ("anyio", "mcp", "mcp.server", "mcp.server.stdio"):
        monkeypatch.setitem(sys.modules, name, type(sys)(name))
    monkeypatch.setattr(sys.modules["mcp.server.stdio"], "stdio_server", None, raising=False)
    with pytest.raises(UsageError, match="look, measure, process, live, boot"):
        becalm.serve_mcp(allow="everything")


def test_progress_only_grows():
    reports = []
    reporter = Reporter(lambda *report: reports.append(report))
    reporter.started(1, ["a", "b"], None)
    for fraction in (0.25, 0.25, 0.2, 1.5):
        reporter.progressed(Progress(10**9, 1, 2, fraction, None))
    reporter.warned("A sentence.")
    assert [sentence for _, _, sentence in reports] == ["Measuring a, b.", "2 runs", "2 runs", "A sentence."]
    assert [total for _, total, _ in reports] == [None, 1.0, 1.0, None]
    values = [value for value, _, _ in reports]
    assert values == sorted(set(values))
    assert values[1:3] == [0.25, 1.0]


def test_a_search_reports_its_seconds_and_its_question():
    reports = []
    state = SearchProgress("search", "whether nice helps", 2 * 10**9, 4, None, 2, {}, None, None)
    Reporter(lambda *report: reports.append(report)).searching(state)
    assert reports == [(2.0, None, "search: whether nice helps")]
