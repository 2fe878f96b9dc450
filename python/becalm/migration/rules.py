"""Rules for detecting sweet spots, one row each: the published ones, and others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.errors import UsageError

WINDOW_NS = 5_000_000
"""T of the thesis: the length of a counting window, ns."""


class Rule(msgspec.Struct, frozen=True):
    """A set of rules. `words`: its definition of a change of the working set; `rules`: all thresholds for
    becalm-sim."""

    name: str
    words: str
    rules: Mapping[str, Any]

    def within(self, window_ns: int) -> dict[str, Any]:
        """Return the rules with a window length, ns."""
        return {**self.rules, "window_ns": window_ns}


RULES = (
    Rule("rise", "the ratio is above that of the windows before it by more than chance", {}),
    Rule(
        "published",
        "a tenth of the references miss, and fewer missed in the window before",
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
        "the sum of the ratios' excess over their mean is above a threshold",
        {"change": {"cusum": {"drift": 0.02, "threshold": 0.1, "history": 40}}},
    ),
)  # fmt: skip
"""The rules in the order of listings, the default first."""


def with_thresholds(chosen: dict[str, Any], name: str, s1: float | None, s2: float | None) -> dict[str, Any]:
    """Return rules with other thresholds, as shares of references between 0 and 1: S1 for own misses, S2 for those of
    others.

    Raises UsageError for an invalid share, and for S1 of rules without a fixed threshold.
    """
    for option, value in (("S1", s1), ("S2", s2)):
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{option} is a share of references between 0 and 1, not {value:g}.")
    result = dict(chosen)
    if s1 is not None:
        if name != "published":
            raise UsageError(
                f"S1 applies to the published rules only; {name!r} finds its own threshold. Give --rules published."
            )
        result["change"] = {"jump": {"factor": 1 / s1}}
    if s2 is not None:
        result["others_factor"] = 1 / s2
    return result


def waiting_cost(reuse: float | None, miss_cost: float | str | None) -> dict[str, Any]:
    """Return p and t_s for the waiting rule, as far as they are given. Raises UsageError."""
    result: dict[str, Any] = {}
    if reuse is not None:
        if not 0 <= reuse <= 1:
            raise UsageError(f"The probability of reusing a line (p) is from 0 to 1, not {reuse:g}.")
        result["reuse"] = reuse
    if miss_cost is not None:
        result["miss_ns"] = _nanoseconds(miss_cost)
    return result


def _nanoseconds(text: float | str) -> float:
    """Return a time, ns, which may be a fraction. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ns|us|µs)", str(text).strip())
    if match is None:
        raise UsageError(f"The cost of a miss (t_s) is a time such as 64.5ns, not {text!r}.")
    return float(match[1]) * (1.0 if match[2] == "ns" else 1e3)


def rules_named(name: str) -> Rule:
    """Return the rules of a name. Raises UsageError for an unknown one."""
    for rule in RULES:
        if rule.name == name:
            return rule
    raise UsageError(f"There are no rules {name!r}. There are: {', '.join(rule.name for rule in RULES)}.")
