"""Who wants to know how a measurement goes: the interface, and one that does nothing.

The verbs tell a listener; the terminal's progress display is one (`becalm.report.progress`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from becalm.plan import Goal
from becalm.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a measurement stands. `verdict` is the interim one; `fraction` the used share of the budget."""

    elapsed_ns: int
    rounds: int
    runs: int
    fraction: float
    verdict: Verdict | None


class Listener(Protocol):
    """Who wants to know what happens; the terminal's progress display is one."""

    def started(self, study: int | None, names: Sequence[str], goal: Goal) -> None:
        """Measuring begins."""

    def running(self, done: int) -> None:
        """`done` runs are finished and stored."""

    def progressed(self, state: Progress) -> None:
        """The data were looked at."""

    def warned(self, sentence: str) -> None:
        """Something a person should know now."""

    def ended(self, verdict: Verdict) -> None:
        """The final verdict."""


class Quiet:
    """A listener that does nothing."""

    def started(self, study: int | None, names: Sequence[str], goal: Goal) -> None: ...
    def running(self, done: int) -> None: ...
    def progressed(self, state: Progress) -> None: ...
    def warned(self, sentence: str) -> None: ...
    def ended(self, verdict: Verdict) -> None: ...
