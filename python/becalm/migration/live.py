"""A stream that goes on, and when to move by it: the program `becalm-sim live` (crates/becalm-sim/src/spots/live.rs).

The agent counts and binds, `becalm-sim` decides, and Python carries lines between them. So what decides has no rights,
what has rights decides nothing, and files, simulations and live streams are decided by the same code. Each batch of
records is answered at once, so a decision comes with the window that says so.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.simulated.scheduler import engine


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision to move now: `why` is spot, not_worth_waiting, waited_enough, hard_limit, unknown or ended.

    `longest_ns` is d_max by what was counted since it was wanted, `least_ns` d_min before; `kind` the spot's type,
    `task` the thread that had it.
    """

    why: str
    wanted_ns: int
    moved_ns: int
    longest_ns: float = 0.0
    least_ns: float = 0.0
    kind: int | None = None
    task: int | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Decided:
        """Return the value for the engine's answer."""
        spot = found["spot"]
        return cls(
            found["why"], found["wanted_ns"], found["moved_ns"], found["longest_ns"], found["least_ns"],
            None if spot is None else spot["kind"], found["task"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Going:
    """The state without a decision. Time of the newest record, windows of the process in this batch, its threads with a
    known one, d_max by now, and types of spots in this batch."""

    now_ns: int
    windows: int
    known: int
    longest_ns: float
    kinds: tuple[int, ...]


class Live:
    """A stream of one process that is followed."""

    def __init__(self, process: int, question: Mapping[str, Any]) -> None:
        """Start the program. Raises UsageError for rules without a possible decision, MachineError without the
        program."""
        self._program = subprocess.Popen(
            [engine.simulator_path(), "live"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is becalm's, which restores everything first.
            start_new_session=True,
        )
        try:
            self._say({"follow": {"process": process, "question": question}})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def feed(self, records: Sequence[Mapping[str, Any]]) -> Going | Decided:
        """Feed the next records and return the state or the decision."""
        return self._say({"records": list(records)})

    def want(self, wanted: Mapping[str, Any]) -> Going | Decided:
        """Ask for a move: `process`, `at_ns`, `bounded`, `kinds`; return the state or the decision."""
        return self._say({"want": dict(wanted)})

    def close(self) -> None:
        """End it."""
        for pipe in (self._program.stdin, self._program.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._program.terminate()
        self._program.wait()

    def _say(self, line: Mapping[str, Any]) -> Going | Decided:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        try:
            self._program.stdin.write(json.dumps(line) + "\n")
            self._program.stdin.flush()
            said = self._program.stdout.readline()
        except BrokenPipeError:
            said = ""
        answer = json.loads(said) if said else {}
        if "decided" in answer:
            return Decided.of(answer["decided"])
        if "going" in answer:
            found = answer["going"]
            kinds = tuple(spot["kind"] for spot in found["spots"])
            return Going(found["now_ns"], found["windows"], found["known"], found["longest_ns"], kinds)
        if "error" in answer:
            raise UsageError(answer["error"])
        raise MachineError("The engine that finds sweet spots has ended. Nothing was moved.")
