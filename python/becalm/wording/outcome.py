"""The outcome of a study in a few words, for a list; it reads stored verdicts of any kind and any version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.results.compare import Stopped
from becalm.wording.metric import quantity
from becalm.wording.numbers import duration, percent
from becalm.wording.printable import one_line

FINISHED, UNFINISHED, INTERRUPTED, FAILED = "finished", "unfinished", "interrupted", "failed"
"""States of a study; a study without a verdict of its own has none."""

_STATES = {str(Stopped.INTERRUPTED): INTERRUPTED, str(Stopped.FAILED): FAILED}

_GATES = {"within": "within the limit", "above": "over the limit", "undecided": "limit undecided"}


class StudyOutcome(msgspec.Struct, frozen=True):
    """The outcome of a study: how it ended (`state`, empty if unknown), and its answer (`result`, empty for none)."""

    state: str
    result: str

    @property
    def well(self) -> bool:
        """Whether no bad end is known."""
        return self.state in ("", FINISHED)

    @property
    def shown(self) -> str:
        """The state and the result as a cell of a table, without the state of a study that ended well."""
        return ", ".join(part for part in (self.state if self.state != FINISHED else "", self.result) if part)


_ENDS = {"": UNFINISHED, "ok": UNFINISHED, "aborted": INTERRUPTED}
"""States of a study that lacks the verdict of its kind, by the outcome of its last run."""


def outcome(verdict: Mapping[str, Any] | None, *, concluded: bool, last: str = "") -> StudyOutcome:
    """Return the outcome of a study.

    `concluded`: whether studies of its kind have a verdict when they are finished; `last`: outcome of the last run.
    """
    if verdict is None:
        return StudyOutcome(_ENDS.get(last, FAILED) if concluded else "", "")
    state = _STATES.get(str(verdict.get("stopped")), FINISHED)
    if verdict.get("kind") == "record" and any(item.get("failed") for item in verdict.get("summaries") or ()):
        state = FAILED
    try:
        return StudyOutcome(state, _result(verdict))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # The verdict is damaged; `show` reports how.
        return StudyOutcome(state, "")


def _result(verdict: Mapping[str, Any]) -> str:
    """Return the result of a verdict in a few words."""
    if verdict.get("gate"):
        return _GATES.get(str(verdict["gate"]), "")
    if (ranking := verdict.get("ranking")) and ranking.get("places"):
        first, unsure = ranking["places"][0], [place for place in ranking["places"] if place["best"] == 1]
        return f"{'fastest' if len(unsure) == 1 else 'perhaps'}: {one_line(first['name'])}"
    if difference := verdict.get("difference"):
        return _difference(difference)
    differences, summaries = verdict.get("differences") or [], verdict.get("summaries") or []
    if len(differences) == 1:
        return _difference(differences[0])
    if len(summaries) == 1:
        metrics = summaries[0].get("metrics") or []
        if metrics:
            return quantity(metrics[0]["mean"]["value"], metrics[0]["unit"])
        return duration(summaries[0]["mean_ns"]["value"])
    sentence = str(verdict.get("sentence") or "")
    return one_line(sentence.splitlines()[0]) if sentence else ""


def _difference(comparison: Mapping[str, Any]) -> str:
    """Return one comparison in a few words."""
    if comparison.get("low") is None or comparison.get("high") is None:
        return "undecided"
    half = (comparison["high"] - comparison["low"]) / 2
    if comparison["low"] <= 0 <= comparison["high"]:
        return f"within {percent(max(-comparison['low'], comparison['high']), half)} %"
    return f"{percent(comparison['estimate'], half, sign=True)} %"
