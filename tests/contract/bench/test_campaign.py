"""Commands that a campaign of the bench runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import campaign
import tools


def test_a_failing_command_is_named_with_its_last_words() -> None:
    with pytest.raises(SystemExit, match="ended with 3: no such thing"):
        campaign.timed([sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"])


STAND_IN = """
import json, sys
assert sys.argv[1] == "compare" and sys.argv[-2:] == ["loop 1", "loop 2"], sys.argv
budget = float(sys.argv[sys.argv.index("--budget") + 1].removesuffix("s"))
print(json.dumps({"stopped": "answer known", "findings": [], "differences": [{"answer": "faster",
    "estimate": -0.02, "pairs": 7,
    "low": None, "high": -0.01, "standard_error": 0.001, "detectable": budget}]}))
"""
"""Prints a verdict as `becalm compare --json` does; `detectable` carries the budget it was given."""


def test_becalm_is_read_by_its_documented_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "becalm_command", lambda: [sys.executable, "-c", STAND_IN])
    tool = tools.Becalm(tmp_path)
    tool.rest = 0.5
    measured = tool.compare(["loop", "1"], ["loop", "2"], 4.0)
    assert measured.readings["becalm, turns"] == tools.Reading(-1, -0.02)
    assert measured.runs == 7
    assert measured.more["detectable"] == pytest.approx(3.5), "its own start-up was not taken off the time"
    assert measured.more["stopped"] == "answer known"
    assert measured.to_json()["low"] is None
