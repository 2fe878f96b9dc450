"""Waiting for the moment at which a running process moves cheaply, by a stream of what is counted.

`Stream` is what it comes from. It is learnt from first, since the rules need windows of before; then the move is
wanted, and `wait` returns with the batch of records that decides it, at the hard limit at the latest, whatever comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from becalm import system_clock
from becalm.errors import RefusedError
from becalm.migration.live import Decided, Going, Live
from becalm.migration.migrate import Waited
from becalm.wording import migrate as wording

LEARN_WINDOWS = 9
"""Windows of the process before a change can be told: rules of a level of its own need eight before (change.rs)."""

MOST_WINDOWS = 30
"""A process that runs so seldom that there are fewer by then is moved by what is known."""

Clock = Callable[[], int]


class Stream(Protocol):
    """Records of a running process as they come. `events`: what was counted, in words.

    `bounded`: whether they say what misses cost, so that waiting can be weighed; `kinds`: types of spots they can show.
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
        """Return the time of its clock, that of the records, ns."""

    def batch(self, timeout_s: float) -> Sequence[Mapping[str, Any]] | None:
        """Return the next records, none when none came in time; None when the stream is over."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the decision: their name and `question` of becalm-sim, the window and the hard limit, ns."""

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
    """Wait until the process is to be moved. Raises RefusedError when it ends before, UsageError, MachineError.

    `after_ns`: the move is not wanted before so long from now. `at_once`: it is made as soon as it is wanted.
    """
    with Live(process, rules.question) as live:
        said = _learnt(process, live, counting, rules, clock, after_ns)
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
            said = answer
            left = rules.limit_ns - (clock() - wanted)
            if left <= 0:
                answer = Decided("hard_limit", at_ns, at_ns + rules.limit_ns, said.longest_ns)
                break
            answer = _fed(process, live, counting, min(left, rules.window_ns))
        waited = clock() - wanted
    if answer.why == "ended":
        raise RefusedError(wording.ended(process))
    return Waited(
        answer.why, waited, rules.limit_ns, rules.name, counting.events, counting.bounded, counting.kinds, answer,
        counting.remarks,
    )  # fmt: skip


def _learnt(process: int, live: Live, counting: Stream, rules: Rules, clock: Clock, after_ns: int) -> Going:
    begun, windows = clock(), 0
    going = Going(0, 0, 0, 0.0, ())
    while clock() - begun < after_ns or (windows < LEARN_WINDOWS and clock() - begun < MOST_WINDOWS * rules.window_ns):
        answer = _fed(process, live, counting, rules.window_ns)
        assert isinstance(answer, Going), "nothing is wanted yet"
        going = answer
        windows += going.windows
    return going


def _fed(process: int, live: Live, counting: Stream, timeout_ns: int) -> Going | Decided:
    batch = counting.batch(timeout_ns / 1e9)
    if batch is None:
        raise RefusedError(wording.ended(process))
    return live.feed(batch)
