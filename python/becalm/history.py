"""What has been measured so far, in a form that stays small: fifteen bytes a run.

`History` takes rows as they come from a host and answers what a plan and a judge ask: how long it has taken, how
many rounds are complete, the log times of each program by round. It never holds more than those columns; the full
record of a run is in the store.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from becalm.nouns import Outcome, Run

OUTCOMES = tuple(Outcome)
"""The order gives each outcome its small integer, here and in the store."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Complete rounds: `log_wall[program]` and `position[program]`, each one value a round, in order of rounds."""

    log_wall: tuple[Floats, ...]
    position: tuple[Ints, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds in which every program ended well."""
        return len(self.log_wall[0]) if self.log_wall else 0


class History:
    """The runs of one study in the order they were made."""

    def __init__(self, programs: int) -> None:
        self.programs = programs
        self.next_seq = 0
        self.next_round = 0
        self.warmups = 0
        self.first_started_ns: int | None = None
        self.last_ended_ns: int | None = None
        self.failure: Run | None = None
        self.interrupted = False
        self.left_behind = [0] * programs
        self._wall = array("q")
        self._workload = array("H")
        self._round = array("i")
        self._outcome = array("B")
        self._log = [array("d") for _ in range(programs)]
        self._position = [array("q") for _ in range(programs)]
        self._open: dict[int, dict[int, tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self._wall)

    def extend(self, rows: Iterable[Run]) -> None:
        """Take rows in the order they were run."""
        for run in rows:
            self._take(run)

    def _take(self, run: Run) -> None:
        outcome = Outcome(run.outcome)
        self.next_seq = run.seq + 1
        self._wall.append(run.wall_ns)
        self._workload.append(run.workload)
        self._round.append(run.round)
        self._outcome.append(OUTCOMES.index(outcome))
        self.left_behind[run.workload] += 1 if run.left_behind else 0
        if self.first_started_ns is None and run.round >= 0:
            self.first_started_ns = run.started_ns
        self.last_ended_ns = run.started_ns + run.wall_ns
        if outcome is not Outcome.OK:
            if outcome is not Outcome.ABORTED and self.failure is None:
                self.failure = run
            return
        if run.round < 0:
            self.warmups += 1
            return
        self.next_round = max(self.next_round, run.round + 1)
        done = self._open.setdefault(run.round, {})
        done[run.workload] = (run.seq, run.wall_ns)
        if len(done) == self.programs:
            for program, (seq, wall_ns) in done.items():
                self._log[program].append(math.log(max(wall_ns, 1)))
                self._position[program].append(seq)
            del self._open[run.round]

    @property
    def rounds(self) -> int:
        """Complete rounds: every program once, all ended well."""
        return len(self._log[0])

    @property
    def elapsed_ns(self) -> int:
        """From the start of the first counted run to the end of the last one, by the host's own clock."""
        if self.first_started_ns is None or self.last_ended_ns is None:
            return 0
        return self.last_ended_ns - self.first_started_ns

    def pairs(self) -> Pairs:
        """The complete rounds as arrays."""
        return Pairs(
            tuple(np.array(column, dtype=np.float64) for column in self._log),
            tuple(np.array(column, dtype=np.int64) for column in self._position),
        )

    def wall_ns(self, program: int) -> Ints:
        """Wall times in ns of one program's counted runs that ended well, in order."""
        return self._column(self._wall, program)

    def seqs(self, program: int) -> Ints:
        """Sequence numbers of the runs that `wall_ns` gives."""
        return self._column(range(len(self._wall)), program)

    def counts(self, program: int) -> tuple[int, int]:
        """How many counted runs ended well, and how many ended otherwise."""
        workload, good, counted = self._masks()
        mine = (workload == program) & counted
        return int(np.count_nonzero(mine & good)), int(np.count_nonzero(mine & ~good))

    def _column(self, column: Sequence[int] | array[int], program: int) -> Ints:
        workload, good, counted = self._masks()
        chosen: Ints = np.asarray(column, dtype=np.int64)[(workload == program) & good & counted]
        return chosen

    def _masks(self) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        good = np.array(self._outcome, dtype=np.uint8) == OUTCOMES.index(Outcome.OK)
        return np.array(self._workload, dtype=np.uint16), good, np.array(self._round, dtype=np.int32) >= 0
