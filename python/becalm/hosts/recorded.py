"""Recording which task runs when on each CPU, with two counters: the request, and the events of a host.

    host.record(Recording("llc"), pid)                  a running process, until it ends or `stop`; no pid: until `stop`
    host.measure(MeasureRequest(…, recording=Recording("llc")))   the same while programs run

Both yield `Counting` first, then `Records` repeatedly (and `Started` when a program starts), and `Recorded` at the end.
Records have the JSON form that the detector reads (crates/becalm-sim/src/spots/record.rs), in order of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.hosts.events import OfRecording

SETS = ("llc", "faults", "ws_turnover")
"""The quantities that can be counted: misses of the last-level cache; page faults; pages that one process newly
references. Only the first gives a miss ratio."""


MEANS = ("perf", "bpf")
"""The sources of switches: groups of counters of the kernel, or programs in the kernel where the agent has them."""


def known_means(by: str) -> str:
    """Return a word of MEANS. Raises UsageError for another word."""
    if by not in MEANS:
        raise UsageError(f"--by is one of {', '.join(MEANS)}, not {by!r}.")
    return by


class Recording(msgspec.Struct, frozen=True):
    """The options of a recording.

    - `window_ns`: the interval T at which counters of running tasks are read, ns
    - `batch_ns`: the interval at which records are sent, ns (None: two windows, within 10 to 100 ms)
    - `cpus`: a list such as "0,2-3" (None: all)
    - `by`: one of MEANS
    """

    events: str = "llc"
    window_ns: int = 5_000_000
    batch_ns: int | None = None
    cpus: str | None = None
    by: str = "perf"

    def to_json(self) -> dict[str, Any]:
        """Return the form for the agent (docs/reference/protocol.md)."""
        return {
            "events": self.events, "by": self.by, "window_ns": self.window_ns, "batch_ns": self.batch_ns,
            "cpus": self.cpus,
        }  # fmt: skip


class Counting(OfRecording, frozen=True):
    """The counters of a recording. Its records have times of CLOCK_MONOTONIC_RAW.

    - `counted`: for each kind of core `cpus`, `references`, `misses` with the raw event and its level
    - `cpus`: the recorded CPUs, a list as text; `absent`: reasons for others
    - `llc`: the CPUs of each last-level cache
    - `miss_ratio`: whether misses and references are those of a cache
    - `by`: one of MEANS
    """

    events: str
    miss_ratio: bool
    window_ns: int
    batch_ns: int
    counted: Sequence[Mapping[str, Any]] = ()
    cpus: str | None = None
    absent: Mapping[str, str] = msgspec.field(default_factory=dict)
    llc: Sequence[Sequence[int]] = ()
    by: str = "perf"


class Started(OfRecording, frozen=True):
    """The program of the run `seq` has started as process `pid`; its exec may follow."""

    seq: int
    pid: int


class Records(OfRecording, frozen=True):
    """The next records. `cost_ns`: CPU time of recording until now, without the kernel's; `at_ns`: the time of
    sending."""

    rows: Sequence[Mapping[str, Any]]
    at_ns: int
    cost_ns: int


class Recorded(OfRecording, frozen=True):
    """The end of a recording. `trouble`: the numbers of `lost` records, of times that others `shared` the counters,
    that counters were `unread` because a CPU went offline, and of CPUs that went `offline`.

    `ended`: whether the process has ended; None if none was followed. `names`: the last names of tasks, by number.
    """

    records: int
    trouble: Mapping[str, int]
    absent: Mapping[str, str]
    cost_ns: int
    ended: bool | None = None
    names: Mapping[str, str] = msgspec.field(default_factory=dict)


RecordEvent = Counting | Started | Records | Recorded


def record_event(event: Mapping[str, Any]) -> RecordEvent | None:
    """Return the value for an event of the agent; None if it is not one of a recording."""
    match event["event"]:
        case "recording":
            return Counting(
                event["events"], event["miss_ratio"], event["window_ns"], event["batch_ns"], event["counted"],
                event["cpus"], event["absent"], event["llc"], event["by"],
            )  # fmt: skip
        case "started":
            return Started(event["seq"], event["pid"])
        case "records":
            return Records(event["rows"], event["at_ns"], event["cost_ns"])
        case "done":
            end = event.get("recorded", event)
            if "trouble" in end:
                return Recorded(
                    end["records"], end["trouble"], end["absent"], end["cost_ns"], end.get("ended"),
                    end.get("names", {}),
                )  # fmt: skip
    return None
