"""When enough has been measured."""

from __future__ import annotations

from dataclasses import dataclass

from becalm.nouns.history import History

PATIENCE = 5
"""Where rounds are dropped, so many times the number asked for are made at most."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop, whatever comes first. `budget_ns` and `runs` (rounds) None: no such limit."""

    budget_ns: int | None = None
    runs: int | None = None
    precision: float | None = None
    warmup: int = 1

    def fraction(self, history: History) -> float:
        """Share of the planned measuring that is done, 0 to 1: time or rounds, whichever is further.

        Without any limit the share is t / (t + 30 s), which never ends but may be looked at for ever.
        """
        shares = []
        if self.budget_ns:
            shares.append(history.elapsed_ns / self.budget_ns)
        if self.runs:
            shares.append(history.rounds / self.runs)
        if not shares:
            return history.elapsed_ns / (history.elapsed_ns + 30e9)
        return 1.0 if self.exhausted(history) else min(1.0, max(shares))

    def exhausted(self, history: History) -> bool:
        """True when no further round fits in the limits."""
        if self.runs is not None and (history.rounds >= self.runs or history.complete >= PATIENCE * self.runs):
            return True
        if self.budget_ns is None or history.complete == 0:
            return False
        left = self.budget_ns - history.elapsed_ns
        return left < 0.5 * history.elapsed_ns / history.complete
