"""A host that records each run and moves its program during the run, in the way of the run's arm.

    Moving(inner, binder, request, recording, length_ns, seed)

The caller measures one workload for each of ARMS, all with the same command, on what looks like any other host. Within
a round, the move is requested at the same moment for all arms. Every run is recorded, evaluated by the rules, and bound
to one CPU at the end of its wait: the CPU where it runs (`not moved`) or another. So arms differ only in the move.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from becalm.hosts import Event, Host, MeasureRequest, Runs
from becalm.hosts.events import OfRecording
from becalm.hosts.recorded import Counting, Recording, Records, Started
from becalm.hosts.wrapper import Wrapper
from becalm.migration.tally import Tally
from becalm.nouns.run import Outcome, Run
from becalm.study.migrate_recorded import Moved, Mover, MoveRequest
from becalm.study.migrate_waiting import LEARN_WINDOWS

ARMS: Mapping[str, str] = {"not moved": "stay", "at a random moment": "now", "at a sweet spot": "spot"}
"""The way in which each arm's program is moved, by name of the arm and in the order of their workloads."""

LAST = 0.8
"""The share of a run's length after which no move is requested, so that its cost lies within the run."""


class MovedRun(msgspec.Struct, frozen=True):
    """A run with the outcome of its move and the counts of its process, None where they are unknown."""

    run: Run
    moved: Moved
    references: int | None = None
    misses: int | None = None


class Moving(Wrapper[Host]):
    """A host that records and moves the programs that `inner` runs.

    `binder`: the host that binds processes. `length_ns`: the approximate length of a run.
    """

    def __init__(
        self, inner: Host, binder: Host, request: MoveRequest, recording: Recording, length_ns: int, seed: int = 0
    ) -> None:
        super().__init__(inner)
        self._binder, self._request, self._recording = binder, request, recording
        self._length_s, self._seed = length_ns / 1e9, seed
        self._runs: dict[int, Run] = {}
        self._moved: dict[int, Moved] = {}
        self._tallies: dict[int, Tally] = {}
        self._counts: dict[int, tuple[int, int] | None] = {}
        self.counting: Counting | None = None

    @property
    def earliest_s(self) -> float:
        """The earliest moment of a move, s from the beginning of a run, as the rules first need windows to compare."""
        return (LEARN_WINDOWS + 1) * self._recording.window_ns / 1e9

    def moment(self, number: int) -> float:
        """Return the moment of the moves in a round, s from the beginning of its runs."""
        generator = random.Random(self._seed * 1_000_003 + number)
        return generator.uniform(self.earliest_s, max(self.earliest_s, LAST * self._length_s))

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps, and move each run's program in the way of its arm."""
        mover: Mover | None = None
        now = -1
        try:
            for event in self.inner.measure(replace(request, recording=self._recording)):
                match event:
                    case Counting():
                        self.counting = event
                    case Started(seq, pid):
                        self._end_move(now, mover)
                        step = request.block.steps[seq - request.first]
                        now, mover = seq, self._begin_move(step.workload, step.round, pid)
                        self._tally(seq, pid)
                    case Records(rows):
                        for tally in self._tallies.values():
                            tally.add(rows)
                        if mover is not None:
                            mover.add(rows)
                    case Runs(rows):
                        self._runs |= {row.seq: row for row in rows}
                        if now in self._runs:
                            self._end_move(now, mover)
                        yield event
                    case OfRecording():
                        pass
                    case _:
                        yield event
        finally:
            self._end_move(now, mover)
            self._store_tallies(0)

    def runs(self) -> list[MovedRun]:
        """Return the good runs with their moves, without warm-ups, in the order in which they were made."""
        moved_runs = []
        for seq, run in sorted(self._runs.items()):
            if run.outcome == Outcome.OK and not run.warmup and seq in self._moved:
                counts = self._counts.get(seq)
                moved_runs.append(MovedRun(run, self._moved[seq], *(counts or (None, None))))
        return moved_runs

    def _begin_move(self, workload: int, number: int, pid: int) -> Mover:
        how = tuple(ARMS.values())[workload % len(ARMS)]
        mover = Mover(self._binder, replace(self._request, how=how, after_s=self.moment(number)))
        mover.on_trouble(self.stop)
        assert self.counting is not None, "a recording first reports what it counts"
        mover.counts(self.counting)
        mover.begins(pid)
        return mover

    def _end_move(self, seq: int, mover: Mover | None) -> None:
        """Wait until the program of an ended run is no longer bound. Raises the error of its move."""
        if mover is None or seq in self._moved:
            return
        with mover:
            pass
        assert mover.moved is not None
        self._moved[seq] = mover.moved

    def _tally(self, seq: int, pid: int) -> None:
        if self.counting is not None and self.counting.miss_ratio:
            # The last records of a run arrive after the next run has begun.
            self._store_tallies(1)
            self._tallies[seq] = Tally(pid)

    def _store_tallies(self, left: int) -> None:
        for seq in sorted(self._tallies)[: len(self._tallies) - left]:
            counts = self._tallies.pop(seq).take()
            self._counts[seq] = None if counts.unknown else (counts.references, counts.misses)
