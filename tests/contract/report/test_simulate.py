"""Reports of simulations by becalm-sim."""

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.report import forms


def test_buckets_of_the_engine_add_up_to_what_was_counted():
    run = becalm.simulate("hackbench -g 1 -l 3", timeline=True).runs[0]
    assert sum(count for _, count in run.wait.buckets) == run.wait.count
    survival = run.message_latency.survival
    assert survival[-1] == (run.message_latency.largest_ns, 0.0)
    assert [share for _, share in survival] == sorted((share for _, share in survival), reverse=True)


def test_the_page_shows_who_ran_where_and_what_is_not_modelled():
    simulation = becalm.simulate("requests:clients=3,requests=20", host="sim:cfs?cpus=20", timeline=True)
    page = forms.as_html(simulation)
    assert page.count("<svg") == 2, "all turns are in the picture of the whole time; and the waits"
    for words in ("Tasks on the CPUs", "The first 16 of 20 CPUs", "Not modelled: locks", "longer than, ", ">client<"):
        assert words in page
    assert "Tasks on the CPUs" not in forms.as_html(becalm.simulate("spin 1ms"))
    assert "**requests:clients=3" in forms.as_markdown(simulation)
    forms.draw_all(simulation)


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
    assert "<svg" in forms.as_html(becalm.simulate("spin 1ms", host=host, timeline=True))
