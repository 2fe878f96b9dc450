"""Runs whose program is moved meanwhile: a host that records each run and moves it, as its place among the arms says.

    Moving(inner, binder, asked, recording, length_ns, seed)

Whoever measures has one workload for each of ARMS, all of the same command, and sees a host like any other. In a round
the moment at which a move is wanted is the same for all arms. Every run is recorded, followed by the rules, and bound
to one CPU at the end of its wait: the one where it runs (`not moved`), or another. So arms differ in the move alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from becalm.hosts import Event, Host, MeasureRequest, Runs
from becalm.hosts.events import OfRecording
from becalm.hosts.recorded import Counting, Recording, Records, Started
from becalm.hosts.wrapper import Wrapper
from becalm.migration.tally import Tally
from becalm.nouns.run import Outcome, Run
from becalm.study.migrate_recorded import Moved, Mover, MoveRequest
from becalm.study.migrate_waiting import LEARN_WINDOWS

ARMS: Mapping[str, str] = {"not moved": "stay", "at a random moment": "now", "at a sweet spot": "spot"}
"""The arms, in the order of their workloads: how each is moved."""

LAST = 0.8
"""The share of a run's length after which no move is wanted, so that its cost lies within the run."""


@dataclass(frozen=True, slots=True)
class MovedRun:
    """A run, what became of its move, and what its process counted; None where that is not known."""

    run: Run
    moved: Moved
    references: int | None = None
    misses: int | None = None


class Moving(Wrapper[Host]):
    """Records and moves what `inner` runs; `binder` binds. `length_ns`: how long a run takes, about."""

    def __init__(
        self, inner: Host, binder: Host, asked: MoveRequest, recording: Recording, length_ns: int, seed: int = 0
    ) -> None:
        super().__init__(inner)
        self._binder, self._asked, self._recording = binder, asked, recording
        self._length_s, self._seed = length_ns / 1e9, seed
        self._runs: dict[int, Run] = {}
        self._moved: dict[int, Moved] = {}
        self._tallies: dict[int, Tally] = {}
        self._counts: dict[int, tuple[int, int] | None] = {}
        self.counting: Counting | None = None

    @property
    def earliest_s(self) -> float:
        """No move is wanted before the rules have windows to compare with."""
        return (LEARN_WINDOWS + 1) * self._recording.window_ns / 1e9

    def moment(self, number: int) -> float:
        """Return when a move is wanted in a round, s from the beginning of its runs."""
        drawn = random.Random(self._seed * 1_000_003 + number)
        return drawn.uniform(self.earliest_s, max(self.earliest_s, LAST * self._length_s))

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps, and move each run's program as the workload of its step says."""
        mover: Mover | None = None
        now = -1
        try:
            for event in self.inner.measure(replace(request, recording=self._recording)):
                match event:
                    case Counting():
                        self.counting = event
                    case Started(seq, pid):
                        self._over(now, mover)
                        step = request.block.steps[seq - request.first]
                        now, mover = seq, self._begun(step.workload, step.round, pid)
                        self._tally(seq, pid)
                    case Records(rows):
                        for tally in self._tallies.values():
                            tally.add(rows)
                        if mover is not None:
                            mover.add(rows)
                    case Runs(rows):
                        self._runs |= {row.seq: row for row in rows}
                        if now in self._runs:
                            self._over(now, mover)
                        yield event
                    case OfRecording():
                        pass
                    case _:
                        yield event
        finally:
            self._over(now, mover)
            self._taken(0)

    def runs(self) -> list[MovedRun]:
        """Return the runs that ended well, with their moves, without warm-ups; in the order they were made."""
        moved_runs = []
        for seq, run in sorted(self._runs.items()):
            if run.outcome == Outcome.OK and not run.warmup and seq in self._moved:
                counts = self._counts.get(seq)
                moved_runs.append(MovedRun(run, self._moved[seq], *(counts or (None, None))))
        return moved_runs

    def _begun(self, workload: int, number: int, pid: int) -> Mover:
        how = tuple(ARMS.values())[workload % len(ARMS)]
        mover = Mover(self._binder, replace(self._asked, how=how, after_s=self.moment(number)))
        mover.on_trouble(self.stop)
        assert self.counting is not None, "a recording says first what it counts"
        mover.counts(self.counting)
        mover.begins(pid)
        return mover

    def _over(self, seq: int, mover: Mover | None) -> None:
        """Handle the end of a run: its program is no longer bound. Raises what failed in its move."""
        if mover is None or seq in self._moved:
            return
        with mover:
            pass
        assert mover.moved is not None
        self._moved[seq] = mover.moved

    def _tally(self, seq: int, pid: int) -> None:
        if self.counting is not None and self.counting.miss_ratio:
            # The last records of the run before come after the next one has begun.
            self._taken(1)
            self._tallies[seq] = Tally(pid)

    def _taken(self, left: int) -> None:
        for seq in sorted(self._tallies)[: len(self._tallies) - left]:
            found = self._tallies.pop(seq).take()
            self._counts[seq] = None if found.unknown else (found.references, found.misses)
