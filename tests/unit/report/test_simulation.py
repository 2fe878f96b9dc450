"""The report of a simulation: page, curve of waits, timeline."""

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.nouns.simulation import Latency, Timeline
from becalm.report import drawn
from becalm.report.simulation_figures import COLORS, colored, curve, kind, pieces


def latency(*buckets):
    count = sum(number for _, number in buckets)
    return Latency(count, 1.0, 1, 1, 1, 1, max((upper for upper, _ in buckets), default=0), buckets)


def test_the_curve_of_waits_is_the_share_that_is_longer():
    """A bucket holds times up to its end: beyond that they are not counted any more, and none is beyond the last."""
    assert latency((10, 1), (20, 3)).survival == ((0, 1.0), (10, 0.75), (20, 0.0))
    assert latency().survival == ()
    assert latency((0, 4)).survival == ((0, 1.0), (0, 0.0)), "who never waited is not longer than nothing"
    assert curve(latency((0, 1), (10, 1), (20, 2)), 5) == [(5, 0.75), (10, 0.5), (20, 0.0)]
    assert curve(latency((10, 1), (20, 3)), 10) == [(10, 0.75), (20, 0.0)]


def test_buckets_of_the_engine_add_up_to_what_was_counted():
    found = becalm.simulate("hackbench -g 1 -l 3", timeline=True).runs[0]
    assert sum(count for _, count in found.wait.buckets) == found.wait.count
    survival = found.message_latency.survival
    assert survival[-1] == (found.message_latency.largest_ns, 0.0)
    assert [share for _, share in survival] == sorted((share for _, share in survival), reverse=True)


def test_pieces_belong_to_whom_ran_longest():
    spans = [(0, 0, 0, 60), (0, 1, 60, 100), (0, 1, 100, 290), (1, 0, 10, 20)]
    assert pieces(spans, 300, 3) == [(0, 0, 0, 100), (0, 1, 100, 300)], "CPU 1 was idle for more than half"
    assert pieces([(0, 2, 0, 7)], 7, 300) == [(0, 2, 0, 7)]


def test_kinds_have_colours_by_the_time_that_they_ran():
    names = ("client 3", "receiver 0.7", "gzip, thread 2", "12", "a", "b")
    assert [kind(name) for name in names] == ["client", "receiver", "gzip", "12", "a", "b"]
    found = colored(Timeline(names, tuple((0, task, 0, task + 1) for task in range(6)), 0))
    assert list(found) == ["b", "a", "12", "gzip", "receiver", "client"]
    assert len(set(found.values())) == len(COLORS) + 1


def test_the_page_shows_who_ran_where_and_what_is_not_modelled():
    found = becalm.simulate("requests:clients=3,requests=20", host="sim:cfs?cpus=20", timeline=True)
    page = drawn.as_html(found)
    assert page.count("<svg") == 2, "all turns are in the picture of the whole time; and the waits"
    for words in ("Who ran where", "The first 16 of 20 CPUs", "Not modelled: locks", "longer than, ", ">client<"):
        assert words in page
    assert "Who ran where" not in drawn.as_html(becalm.simulate("spin 1ms"))
    assert "**requests:clients=3" in drawn.as_markdown(found)
    drawn.tried(found)


def test_the_command_writes_it(tmp_path):
    path = tmp_path / "page.html"
    words = ["simulate", "--report", str(path), "--", "hackbench", "-g", "1", "-l", "1"]
    assert CliRunner().invoke(group, words).exit_code == 0
    assert "sender" in path.read_text()
    refused = CliRunner().invoke(group, [*words[:2], "page.pdf", *words[3:]])
    assert "writes .html, .md and .json" in f"{refused.output}{refused.exception}"


def test_a_trace_that_is_cut_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("becalm.verbs.simulate.MOST_SPANS", 10)
    words = ["simulate", "--trace", str(tmp_path / "x.json"), "--", "hackbench", "-g", "1", "-l", "1"]
    assert "It has the first 10 turns; " in CliRunner().invoke(group, words).stderr


@pytest.mark.parametrize("host", ["sim:cfs", "sim:eevdf?kernel=6.18"])
def test_a_simulation_of_one_task_has_a_page(host):
    assert "<svg" in drawn.as_html(becalm.simulate("spin 1ms", host=host, timeline=True))
