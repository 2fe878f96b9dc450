"""The result LiveAccounted: the cost of moves for a real program, at sweet spots and at random moments.

Ratios are computed by `becalm.stats.paired` from the runs of a round, whose order is random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.nouns.result import Result
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import RepeatedPairs

CONFIDENCE = 0.95
LEAST_ROUNDS = 6
"""The number of pairs from which the estimator's normal approximation holds."""

PAIRS: Mapping[str, tuple[int, int]] = {"random": (0, 1), "spot": (0, 2), "waiting": (1, 2)}
"""The compared pairs of arms: 0 not moved, 1 at a random moment, 2 at a sweet spot."""

QUANTITIES = ("wall_ns", "cpu_ns", "references", "misses")


class RelativeEffect(msgspec.Struct, frozen=True):
    """A relative effect, as a share, with its interval. `rounds`: the number of rounds it is based on."""

    value: float
    low: float
    high: float
    rounds: int


class Round(msgspec.Struct, frozen=True):
    """The runs of a round, by arm.

    They have quantities (None: unknown), places in the order of all runs, reasons for the moment of the move (or for
    not moving), and waiting times, ns.
    """

    quantities: tuple[Mapping[str, float | None], ...]
    places: tuple[int, ...]
    whys: tuple[str, ...]
    waited_ns: tuple[int, ...]


class LiveAccounted(Result, frozen=True):
    """The cost of moves for a real program. `command`: as typed; `to`: "same" or "other" last-level cache, None: any;
    `counted`: the counted events in words."""

    KIND = "migration-account-live"
    DERIVED = ("effects",)

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
        """Return the relative effect of the second arm of a pair; None with fewer than six rounds.

        The three intervals of a quantity hold simultaneously.
        """
        first_arm, second_arm = PAIRS[pair]
        pairs = [
            (before, after, round.places[first_arm], round.places[second_arm])
            for round in self.rounds
            if (before := round.quantities[first_arm].get(quantity))
            and (after := round.quantities[second_arm].get(quantity))
        ]
        if len(pairs) < LEAST_ROUNDS:
            return None
        firsts, seconds, ones, others = zip(*pairs, strict=True)
        alpha = simultaneous_alpha(1 - CONFIDENCE, len(PAIRS))
        first, second = ([math.log(value) for value in values] for values in (firsts, seconds))
        estimate = RepeatedPairs(alpha).look(first, second, ones, others, 1.0)
        return RelativeEffect(
            math.expm1(estimate.estimate), math.expm1(estimate.low), math.expm1(estimate.high), len(pairs)
        )

    def whys(self, arm: int) -> dict[str, int]:
        """Return the number of an arm's runs by the reason for the moment of the move."""
        result: dict[str, int] = {}
        for round in self.rounds:
            result[round.whys[arm]] = result.get(round.whys[arm], 0) + 1
        return result

    @property
    def effects(self) -> dict[str, dict[str, RelativeEffect | None]]:
        """The effects by quantity and pair."""
        return {name: {pair: self.effect(pair, name) for pair in PAIRS} for name in QUANTITIES}


def rounds_of(arms: Sequence[Mapping[int, Mapping[str, Any]]]) -> tuple[Round, ...]:
    """Return the rounds that all arms have. `arms`: for each arm, rows by number of the round."""
    common = sorted(set.intersection(*(set(arm) for arm in arms)))
    rounds = []
    for number in common:
        rows = [arm[number] for arm in arms]
        rounds.append(
            Round(
                tuple({name: row[name] for name in QUANTITIES} for row in rows), tuple(row["place"] for row in rows),
                tuple(row["why"] for row in rows), tuple(row["waited_ns"] for row in rows),
            )
        )  # fmt: skip
    return tuple(rounds)
