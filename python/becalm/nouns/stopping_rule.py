"""The noun StoppingRule: the limits at which a study has measured enough."""

from __future__ import annotations

from typing import Protocol

import msgspec

PATIENCE = 5
"""The largest number of rounds, dropped ones included, as a multiple of the requested number."""


class Measured(Protocol):
    """The measurements so far, as `becalm.plans.history.History` reports them."""

    @property
    def elapsed_ns(self) -> int:
        """The time from the start of the first counted run to the end of the last one, ns."""

    @property
    def rounds(self) -> int:
        """The number of complete rounds that count."""

    @property
    def round_ns(self) -> float:
        """The mean time of a round so far, ns."""

    @property
    def complete(self) -> int:
        """The number of complete rounds, dropped ones included."""


class StoppingRule(msgspec.Struct, frozen=True):
    """The rule by which measuring stops at the first limit. `budget_ns` and `runs` (rounds): None for no limit."""

    budget_ns: int | None = None
    runs: int | None = None
    precision: float | None = None
    warmup: int = 1

    def fraction(self, history: Measured) -> float:
        """Return the share of the planned measuring that is done, 0 to 1, by time or by rounds, whichever is larger.

        Without a limit the share is t / (t + 30 s), so that looks at the data may continue for ever.
        """
        shares = []
        if self.budget_ns:
            shares.append(history.elapsed_ns / self.budget_ns)
        if self.runs:
            shares.append(history.rounds / self.runs)
        if not shares:
            return history.elapsed_ns / (history.elapsed_ns + 30e9)
        return 1.0 if self.exhausted(history) else min(1.0, max(shares))

    def exhausted(self, history: Measured) -> bool:
        """Return whether no further round fits into the limits."""
        if self.runs is not None and (history.rounds >= self.runs or history.complete >= PATIENCE * self.runs):
            return True
        if self.budget_ns is None or history.complete == 0:
            return False
        left = self.budget_ns - history.elapsed_ns
        return left < 0.5 * history.round_ns
