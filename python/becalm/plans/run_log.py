"""Every run of a small study, as it arrived: for the measuring loop and for plans that need no compact form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from becalm.nouns.run import Outcome, Run


@dataclass(slots=True)
class RunLog:
    """Runs in the order they were made. `goes_on`: whether the study continues after a run that does not end well."""

    goes_on: bool = False
    rows: list[Run] = field(default_factory=list)
    interrupted: bool = False
    failure: Run | None = None

    @property
    def next_seq(self) -> int:
        """The number of the next run."""
        return self.rows[-1].seq + 1 if self.rows else 0

    @property
    def next_round(self) -> int | None:
        """The round after the last one; None before the first."""
        return self.rows[-1].round + 1 if self.rows else None

    def extend(self, rows: Iterable[Run]) -> None:
        """Take finished runs."""
        for run in rows:
            self.rows.append(run)
            if not self.goes_on and run.outcome not in (Outcome.OK, Outcome.ABORTED) and self.failure is None:
                self.failure = run
