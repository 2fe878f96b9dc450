"""The conclusion of a tune study is read back."""

from tests.support.pages import undrawn  # noqa: F401

from becalm.results.tune import from_json


def test_a_written_verdict_is_read_back(study):
    assert from_json(study.to_json()).to_json() == study.to_json()
