"""The cost of moves for a simulated program: at sweet spots, at random moments, and not moved, in pairs of equal pages.

    account(request, trials) -> Accounted

In each trial a moment is drawn, and the program is simulated three times with the same places of pages: never moved,
moved at that moment, and moved at the next sweet spot after it, by the waiting rule. Everything else is equal, so the
difference to the unmoved program is the full cost of the move. The order of simulations does not matter.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.migration.engine import ask
from becalm.nouns.result import Result
from becalm.stats.student import stdtrit

ARMS = ("not moved", "at a random moment", "at a sweet spot")
QUANTITIES = ("references", "misses", "time_ns")
CONFIDENCE = 0.95
LEAST_TRIALS = 3


class Mean(msgspec.Struct, frozen=True, rename={"value": "mean"}):
    """A mean over trials, and half of its 95 % interval (Student's t)."""

    value: float
    half: float

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return abs(self.value) > self.half

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of values, one per trial."""
        half = stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2) * statistics.stdev(values) / math.sqrt(len(values))
        return cls(statistics.fmean(values), half)


class MoveTrial(msgspec.Struct, frozen=True):
    """A drawn moment, and the cost of moving then (`random`) and at a sweet spot (`spot`), by quantity.

    `alone`: the quantities of the unmoved program. `why`, `waited_ns`: the reason for the end of the wait, and its
    length.
    """

    at_ns: int
    seed: int
    alone: Mapping[str, float]
    random: Mapping[str, float]
    spot: Mapping[str, float]
    why: str
    waited_ns: int


class Accounted(Result, frozen=True):
    """The cost of moves for a simulated program. `program`: as typed; `to`: "same" or "other" last-level
    cache."""

    KIND = "migration-account"
    DERIVED = ("costs",)

    program: str
    to: str
    rules: str
    reuse: float
    window_ns: int
    trials: tuple[MoveTrial, ...]
    sentence: str = ""

    def cost(self, arm: str, quantity: str) -> Mean:
        """Return the cost of a move at `random` moments or at a `spot`."""
        return Mean.of([getattr(trial, arm)[quantity] for trial in self.trials])

    def gain(self, quantity: str) -> Mean:
        """Return the mean saving of a move at a sweet spot compared with a random moment."""
        return Mean.of([trial.random[quantity] - trial.spot[quantity] for trial in self.trials])

    @property
    def at_spots(self) -> int:
        """The number of moves that reached a sweet spot."""
        return sum(trial.why == "spot" for trial in self.trials)

    @property
    def costs(self) -> dict[str, dict[str, Mean]]:
        """The costs of both moves and the saving, by quantity."""
        return {
            name: {
                "random": self.cost("random", name), "spot": self.cost("spot", name), "gain": self.gain(name),
            }
            for name in QUANTITIES
        }  # fmt: skip


def account(request: Mapping[str, Any], to: int, trials: int, seed: int) -> list[MoveTrial]:
    """Return trials of moving the first task of a request of `becalm-sim cache`, which has a question, to a CPU.

    Raises UsageError for a program that does not end or is too short for a move.
    """
    if trials < LEAST_TRIALS:
        raise UsageError(f"At least {LEAST_TRIALS} moves are needed for an interval, not {trials}.")
    generator = random.Random(seed)
    result = []
    for number in range(trials):
        seeded = {**request, "seed": seed * 10_000 + number}
        alone = _played(seeded, None)
        at = round(alone["ended_ns"] * generator.uniform(0.1, 0.9))
        moves = {how: _played(seeded, {"at_ns": at, "to": to, "how": how}) for how in ("at_once", "at_spot")}
        moved, why = moves["at_spot"]["moved"]
        result.append(
            MoveTrial(
                at, seeded["seed"], _quantities(alone), _more(moves["at_once"], alone),
                _more(moves["at_spot"], alone), why, max(0, moved - at),
            )
        )  # fmt: skip
    return result


def _played(request: Mapping[str, Any], once: Mapping[str, Any] | None) -> dict[str, Any]:
    """Simulate the first task; return its counts, its time, and when and why it was moved."""
    answer = ask("cache", {**request, "once": [] if once is None else [{"task": 0, **once}]})
    task = answer["tasks"][0]
    if task["ended_ns"] is None:
        raise UsageError("The cost of a move needs a program that ends: matrixmult, phases with a number, or trace.")
    mhz = request.get("machine", {}).get("mhz", 3_100)
    own = next(program["own"] for program in answer["found"]["programs"] if program["task"] == 1)
    return {
        "references": own[0], "misses": own[1], "time_ns": task["cycles"] * 1e3 / mhz, "ended_ns": task["ended_ns"],
        "moved": task["moved"][0] if task["moved"] else (0, "ended"),
    }  # fmt: skip


def _quantities(played: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(played[name]) for name in QUANTITIES}


def _more(moved: Mapping[str, Any], alone: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(moved[name] - alone[name]) for name in QUANTITIES}
