"""A program that is not there next to others, on this machine: they are measured, and the command exits with 4."""

import pytest

import becalm
from becalm.errors import WorkloadError

SUITE = '[[program]]\nname = "gone"\ncommand = "/nowhere/gone"\n[[program]]\ncommand = "true"\nreference = "5ms"\n'


def test_a_suite_rates_the_others(store, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    ratings = becalm.suite(str(tmp_path / "suite.toml"), runs=2, rates=False)
    gone, there = ratings.tunings[0].programs
    assert (gone.failed, there.failed) == (1, 0)
    assert there.ratio is not None
    assert gone.ratio is None
    assert ratings.exit_code == 4
    texts = [text for text, _ in becalm.show(ratings.study).document.texts.values()]
    assert texts == ['There is no program "/nowhere/gone".']
    assert becalm.show(ratings.study).verdict.exit_code == 4


def test_a_session_records_the_others(store):
    verdict = becalm.record(["/nowhere/gone", "true"], project="p", commit="c", runs=2)
    assert [summary.name for summary in verdict.summaries] == ["true"]
    assert "Runs of /nowhere/gone failed" in verdict.sentence
    assert verdict.exit_code == 4


def test_a_comparison_goes_on_with_the_others(store):
    comparison = becalm.compare(["true", "/nowhere/gone", "sleep 0"], runs=2)
    assert [summary.name for summary in comparison.summaries] == ["true", "sleep 0"]
    assert comparison.exit_code == 4
    (left_out,) = [finding.sentence for finding in comparison.findings if finding.kind == "left_out"]
    assert left_out == 'Left out of the comparison: /nowhere/gone: There is no program "/nowhere/gone".'
    assert left_out in [finding.sentence for finding in becalm.show(comparison.study).verdict.findings]
    with pytest.raises(WorkloadError, match="There is no program"):
        becalm.compare(["true", "/nowhere/gone"], runs=2)
