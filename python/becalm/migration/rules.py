"""Rules by which sweet spots are found, one row each: the published ones, and others beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from becalm.errors import UsageError

WINDOW_NS = 5_000_000
"""T of the thesis: a window of counting, ns."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row. `words`: what a change of the working set is; `rules`: all thresholds, as becalm-sim takes them."""

    name: str
    words: str
    rules: Mapping[str, Any]

    def within(self, window_ns: int) -> dict[str, Any]:
        """These rules with windows of another length, ns."""
        return {**self.rules, "window_ns": window_ns}


RULES = (
    Rule("rise", "the ratio is above that of the windows before by more than chance", {}),
    Rule(
        "published",
        "a tenth of the references miss, and in the window before less",
        {
            "closing": "when_it_runs", "change": {"jump": {"factor": 10}}, "others_factor": 10, "least_references": 0,
            "onset": False, "refill_is_change": True,
        },
    ),
    Rule(
        "adaptive",
        "the ratio is above the median of the last 200 by 3 robust standard deviations",
        {"change": {"adaptive": {"deviations": 3.0, "history": 200, "low": 0.02, "high": 0.5}}},
    ),
    Rule(
        "cusum",
        "the sum of what ratios are above their mean is above a threshold",
        {"change": {"cusum": {"drift": 0.02, "threshold": 0.1, "history": 40}}},
    ),
)  # fmt: skip
"""In the order in which they are listed; the first one is ours."""


def rules_named(name: str) -> Rule:
    """A row. Raises UsageError for a name that there is not."""
    for each in RULES:
        if each.name == name:
            return each
    raise UsageError(f"There are no rules {name!r}. There are: {', '.join(each.name for each in RULES)}.")
