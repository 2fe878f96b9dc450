"""Waiting for a moment at which moving a running process is cheap, decided from a stream of its counts.

`wait` first learns from the stream, since the rules compare with earlier windows. Then it requests the move, and
returns when a batch of records decides it, at the hard limit at the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from becalm import system_clock
from becalm.errors import RefusedError
from becalm.migration.live import Decided, Going, Live
from becalm.migration.migrate import Waited
from becalm.wording import migrate as wording

LEARN_WINDOWS = 9
"""The windows that must be learnt before a change can be detected: rules by level compare with eight (change.rs)."""

MOST_WINDOWS = 30
"""The time after which learning ends in any case, as a number of window lengths: a process may run seldom."""

Clock = Callable[[], int]


class Stream(Protocol):
    """A stream of a running process's records. `events`: the counted quantity, in words.

    `bounded`: whether the counts show what misses cost, so that waiting can be weighed. `kinds`: the types of sweet
    spots that they can show.
    """

    @property
    def events(self) -> str: ...

    @property
    def bounded(self) -> bool: ...

    @property
    def kinds(self) -> tuple[int, ...]: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    def now_ns(self) -> int:
        """Return the time of the clock that the records use, ns."""

    def batch(self, timeout_s: float) -> Sequence[Mapping[str, Any]] | None:
        """Return the next records, empty when none came in time; None when the stream has ended."""


class Rules(msgspec.Struct, frozen=True):
    """The rules of a decision: their name, the `question` for becalm-sim, the window and the hard limit, ns."""

    name: str
    question: Mapping[str, Any]
    window_ns: int
    limit_ns: int


def wait(
    process: int,
    counting: Stream,
    rules: Rules,
    clock: Clock = system_clock.monotonic_ns,
    *,
    after_ns: int = 0,
    at_once: bool = False,
) -> Waited:
    """Wait until the process is to be moved.

    `after_ns`: the time from now to the request for the move. `at_once`: whether to move at the request, without
    waiting. Raises RefusedError when the process ends before, UsageError, and MachineError.
    """
    with Live(process, rules.question) as live:
        progress = _learn(process, live, counting, rules, clock, after_ns)
        if at_once:
            return Waited(
                "asked", 0, rules.limit_ns, rules.name, counting.events, counting.bounded, counting.kinds, None,
                counting.remarks,
            )  # fmt: skip
        wanted, at_ns = clock(), counting.now_ns()
        answer = live.want(
            {"process": process, "at_ns": at_ns, "bounded": counting.bounded, "kinds": list(counting.kinds)}
        )
        while not isinstance(answer, Decided):
            progress = answer
            left = rules.limit_ns - (clock() - wanted)
            if left <= 0:
                answer = Decided("hard_limit", at_ns, at_ns + rules.limit_ns, progress.longest_ns)
                break
            answer = _feed(process, live, counting, min(left, rules.window_ns))
        waited = clock() - wanted
    if answer.why == "ended":
        raise RefusedError(wording.ended(process))
    return Waited(
        answer.why, waited, rules.limit_ns, rules.name, counting.events, counting.bounded, counting.kinds, answer,
        counting.remarks,
    )  # fmt: skip


def _learn(process: int, live: Live, counting: Stream, rules: Rules, clock: Clock, after_ns: int) -> Going:
    begun, windows = clock(), 0
    going = Going(0, 0, 0, 0.0, ())
    while clock() - begun < after_ns or (windows < LEARN_WINDOWS and clock() - begun < MOST_WINDOWS * rules.window_ns):
        answer = _feed(process, live, counting, rules.window_ns)
        assert isinstance(answer, Going), "the move is not requested yet"
        going = answer
        windows += going.windows
    return going


def _feed(process: int, live: Live, counting: Stream, timeout_ns: int) -> Going | Decided:
    batch = counting.batch(timeout_ns / 1e9)
    if batch is None:
        raise RefusedError(wording.ended(process))
    return live.feed(batch)
