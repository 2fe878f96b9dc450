"""Deciding when to move a running process, by the program `becalm-sim live` (crates/becalm-sim/src/spots/live.rs).

The agent counts and binds, `becalm-sim` decides, and Python carries lines between them. So the deciding program has no
rights, and files, simulations and live streams use the same code. Each batch of records is answered at once, so that a
decision comes with the window that causes it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import MachineError, UsageError
from becalm.hosts.simulated.scheduler import engine


class Decided(msgspec.Struct, frozen=True):
    """The decision to move now.

    - `why`: spot, not_worth_waiting, waited_enough, hard_limit, unknown or ended
    - `longest_ns`: d_max by the counts since the request; `least_ns`: d_min before it
    - `kind`: the type of the sweet spot; `task`: its thread
    """

    why: str
    wanted_ns: int
    moved_ns: int
    longest_ns: float = 0.0
    least_ns: float = 0.0
    kind: int | None = None
    task: int | None = None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Decided:
        """Return the value for the engine's answer."""
        spot = answer["spot"]
        return cls(
            answer["why"], answer["wanted_ns"], answer["moved_ns"], answer["longest_ns"], answer["least_ns"],
            None if spot is None else spot["kind"], answer["task"],
        )  # fmt: skip


class Going(msgspec.Struct, frozen=True):
    """The state without a decision.

    - `now_ns`: the time of the newest record; `longest_ns`: d_max now
    - `windows`: the number of windows of the process in this batch
    - `known`: the number of its threads with a known window in this batch
    - `kinds`: the types of sweet spots in this batch
    """

    now_ns: int
    windows: int
    known: int
    longest_ns: float
    kinds: tuple[int, ...]


class Live:
    """The followed stream of one process."""

    def __init__(self, process: int, question: Mapping[str, Any]) -> None:
        """Start the program. Raises UsageError for rules that cannot decide, MachineError if the program is missing."""
        self._program = subprocess.Popen(
            [engine.simulator_path(), "live"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # On Ctrl-C, becalm first restores everything.
            start_new_session=True,
        )
        try:
            self._ask({"follow": {"process": process, "question": question}})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def feed(self, records: Sequence[Mapping[str, Any]]) -> Going | Decided:
        """Feed the next records and return the state or the decision."""
        return self._ask({"records": list(records)})

    def want(self, request: Mapping[str, Any]) -> Going | Decided:
        """Request a move, by `process`, `at_ns`, `bounded`, `kinds`; return the state or the decision."""
        return self._ask({"want": dict(request)})

    def close(self) -> None:
        """End the program."""
        for pipe in (self._program.stdin, self._program.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._program.terminate()
        self._program.wait()

    def _ask(self, line: Mapping[str, Any]) -> Going | Decided:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        try:
            self._program.stdin.write(json.dumps(line) + "\n")
            self._program.stdin.flush()
            reply = self._program.stdout.readline()
        except BrokenPipeError:
            reply = ""
        answer = json.loads(reply) if reply else {}
        if "decided" in answer:
            return Decided.of(answer["decided"])
        if "going" in answer:
            state = answer["going"]
            kinds = tuple(spot["kind"] for spot in state["spots"])
            return Going(state["now_ns"], state["windows"], state["known"], state["longest_ns"], kinds)
        if "error" in answer:
            raise UsageError(answer["error"])
        raise MachineError("The engine that finds sweet spots has ended. Nothing was moved.")
