"""The noun LiveAccounted: what moves cost a real program, at sweet spots, at random moments, and not moved.

Ratios are those of `becalm.stats.paired`, by the runs of a round: their order was drawn, and all of it rests on that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm._version import SCHEMA, VERSION
from becalm.nouns.result import Result
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import RepeatedPairs

CONFIDENCE = 0.95
LEAST_ROUNDS = 6
"""The estimator's normal approximation serves from so many pairs on."""

PAIRS: Mapping[str, tuple[int, int]] = {"random": (0, 1), "spot": (0, 2), "waiting": (1, 2)}
"""The pairs that are compared, by number of the arm: not moved, at random, at spots."""

QUANTITIES = ("wall_ns", "cpu_ns", "references", "misses")


@dataclass(frozen=True, slots=True)
class RelativeEffect:
    """The relative effect, as a share, and its interval. `rounds`: the number of rounds with it."""

    value: float
    low: float
    high: float
    rounds: int

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON; an unknown end is null."""
        ends = [each if math.isfinite(each) else None for each in (self.low, self.high)]
        return {"value": self.value, "low": ends[0], "high": ends[1], "rounds": self.rounds}


@dataclass(frozen=True, slots=True)
class Round:
    """The runs of a round, by arm: quantities (None: not known), their places in the order of all, why each was moved
    then (or why it was not), and what it waited, ns."""

    quantities: tuple[Mapping[str, float | None], ...]
    places: tuple[int, ...]
    whys: tuple[str, ...]
    waited_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class LiveAccounted(Result):
    """`command`: as it was typed; `to`: "same" or "other" last-level cache, None: any; `counted`: in words."""

    command: str
    to: str | None
    rules: str
    window_ns: int
    limit_ns: int
    counted: str
    rounds: tuple[Round, ...]
    remarks: tuple[str, ...] = ()
    sentence: str = ""

    def effect(self, pair: str, quantity: str) -> RelativeEffect | None:
        """Return the relative effect of the second of a pair; None where fewer than six rounds have it.

        The three intervals of a quantity hold together.
        """
        one, other = PAIRS[pair]
        known = [
            (before, after, each.places[one], each.places[other])
            for each in self.rounds
            if (before := each.quantities[one].get(quantity)) and (after := each.quantities[other].get(quantity))
        ]
        if len(known) < LEAST_ROUNDS:
            return None
        firsts, seconds, ones, others = zip(*known, strict=True)
        alpha = simultaneous_alpha(1 - CONFIDENCE, len(PAIRS))
        first, second = ([math.log(each) for each in values] for values in (firsts, seconds))
        found = RepeatedPairs(alpha).look(first, second, ones, others, 1.0)
        return RelativeEffect(math.expm1(found.estimate), math.expm1(found.low), math.expm1(found.high), len(known))

    def whys(self, arm: int) -> dict[str, int]:
        """Return the number of an arm's runs by why they were moved when they were."""
        result: dict[str, int] = {}
        for each in self.rounds:
            result[each.whys[arm]] = result.get(each.whys[arm], 0) + 1
        return result

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        effects = {name: {pair: _json(self.effect(pair, name)) for pair in PAIRS} for name in QUANTITIES}
        rounds = [
            {"quantities": list(map(dict, each.quantities)), "places": list(each.places), "whys": list(each.whys),
             "waited_ns": list(each.waited_ns)}
            for each in self.rounds
        ]  # fmt: skip
        return {
            "becalm": VERSION, "schema": SCHEMA, "kind": "migration-account-live", "sentence": self.sentence,
            "command": self.command, "to": self.to, "rules": self.rules, "window_ns": self.window_ns,
            "limit_ns": self.limit_ns, "counted": self.counted, "effects": effects, "rounds": rounds,
            "remarks": list(self.remarks),
        }  # fmt: skip


def rounds_of(arms: Sequence[Mapping[int, Mapping[str, Any]]]) -> tuple[Round, ...]:
    """Return the rounds that every arm has, of rows by number of the round, one mapping an arm."""
    common = sorted(set.intersection(*(set(arm) for arm in arms)))
    found = []
    for number in common:
        rows = [arm[number] for arm in arms]
        found.append(
            Round(
                tuple({name: row[name] for name in QUANTITIES} for row in rows), tuple(row["place"] for row in rows),
                tuple(row["why"] for row in rows), tuple(row["waited_ns"] for row in rows),
            )
        )  # fmt: skip
    return tuple(found)


def _json(effect: RelativeEffect | None) -> dict[str, Any] | None:
    return None if effect is None else effect.to_json()
