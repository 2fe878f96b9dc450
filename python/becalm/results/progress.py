"""The listener to the progress of a measurement: the interface, and one that does nothing.

The verbs call a listener; the terminal's progress display is one (`becalm.report.progress`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from becalm.nouns.metric import Metric
    from becalm.nouns.stopping_rule import StoppingRule
    from becalm.results.compare import Verdict
    from becalm.results.tune import TuneVerdict


class Progress(msgspec.Struct, frozen=True):
    """The state of a measurement. `verdict` is the interim one; `fraction` the used share of the budget."""

    elapsed_ns: int
    rounds: int
    runs: int
    fraction: float
    verdict: Verdict | None


class SearchProgress(msgspec.Struct, frozen=True):
    """The state of a search for settings.

    - `phase`: look, search or confirm; `why`: the purpose of the present runs
    - `runs`, `planned`: the finished runs of this phase, and their planned number (None: unknown)
    - `best`: the settings that would be chosen now; `spread`: their spread, a fraction (None: unknown yet)
    - `baseline`: the spread of the machine as it is
    - `timed`: whether both are mean times in ns, or means of the turned `metric` (`becalm.nouns.metric`), instead
    - `cost`: the expected cost of the study, in a sentence, where it is reported first
    """

    phase: str
    why: str
    elapsed_ns: int
    runs: int
    planned: int | None
    arms: int
    best: Mapping[str, Any]
    spread: float | None
    baseline: float | None
    left_ns: float | None = None
    timed: bool = False
    cost: str = ""
    metric: Metric | None = None


class ProgressListener(Protocol):
    """A listener to events; the terminal's progress display is one."""

    def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None:
        """Handle the beginning of a measurement."""

    def running(self, done: int) -> None:
        """Handle that `done` runs are finished and stored."""

    def progressed(self, state: Progress) -> None:
        """Handle a look at the data."""

    def searching(self, state: SearchProgress) -> None:
        """Handle the next question of a search for settings."""

    def warned(self, sentence: str) -> None:
        """Handle a sentence that the user should see now."""

    def wrote(self, stream: str, text: str) -> None:
        """Handle text that a program has written for the user; `stream`: "stdout" or "stderr"."""

    def ended(self, verdict: Verdict | TuneVerdict) -> None:
        """Handle the final verdict."""


class Quiet:
    """A listener that does nothing."""

    def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None: ...
    def running(self, done: int) -> None: ...
    def progressed(self, state: Progress) -> None: ...
    def searching(self, state: SearchProgress) -> None: ...
    def warned(self, sentence: str) -> None: ...
    def wrote(self, stream: str, text: str) -> None: ...
    def ended(self, verdict: Verdict | TuneVerdict) -> None: ...
