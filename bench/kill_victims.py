"""The processes of one becalm that are killed, by their roles."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MARK = "BECALM_KILLS"
"""The variable by which processes of a trial are known; all inherit it."""

NAMES = {
    "agent": "becalm-agent",
    "guard": "becalm-guard",
    "spawner": "becalm-spawner",
    "helper": "becalm-helper",
}
"""The roles that are one process name each. One more is a line here."""

UNMARKED = ("becalm-helper", "becalm-guard")
"""The processes that sudo may have started, which passes no variable on; there are none but the trial's."""

KEEPER = "becalm-keeper"
"""The process that waits for interrupts after everything else has ended, which is no matter of a kill."""


@dataclass
class Seen:
    """The processes of a trial at a moment, by role."""

    front: int
    pids: dict[str, list[int]] = field(default_factory=dict)

    @property
    def all(self) -> list[int]:
        """All of them."""
        return [self.front, *(pid for pids in self.pids.values() for pid in pids)]


def look(front: int, mark: str) -> Seen:
    """Find the processes of a trial."""
    roles = {name: role for role, name in NAMES.items()}
    seen = Seen(front)
    wanted = f"{MARK}={mark}".encode()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        place = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            name = (place / "comm").read_text().strip()
            marked = name in UNMARKED or wanted in (place / "environ").read_bytes().split(b"\0")
            if marked and pid not in (front, os.getpid()) and name != KEEPER:
                seen.pids.setdefault(roles.get(name, "workload"), []).append(pid)
    return seen


def role(name: str) -> Callable[[Seen, random.Random], list[int]]:
    """Return the choice of the processes of one role."""
    return lambda seen, draw: [seen.front] if name == "front" else seen.pids.get(name, [])


def pair(seen: Seen, draw: random.Random) -> list[int]:
    """Choose the processes of two roles, in either order."""
    roles = ["front", *sorted(seen.pids)]
    chosen = draw.sample(roles, min(2, len(roles)))
    return [pid for name in chosen for pid in role(name)(seen, draw)]


def group(seen: Seen, draw: random.Random) -> list[int]:
    """Choose a process group: all that a terminal or a supervisor would end in one go."""
    groups: dict[int, list[int]] = {}
    for pid in seen.all:
        with contextlib.suppress(OSError):
            groups.setdefault(os.getpgid(pid), []).append(pid)
    return groups[draw.choice(sorted(groups))] if groups else []


def everything(seen: Seen, draw: random.Random) -> list[int]:
    """Choose all, in any order."""
    return draw.sample(seen.all, len(seen.all))


VICTIMS: dict[str, Callable[[Seen, random.Random], list[int]]] = {
    **{name: role(name) for name in ("front", *NAMES, "workload")},
    "pair": pair,
    "group": group,
    "everything": everything,
}


def kill(pids: list[int], *, stopped: bool) -> list[int]:
    """Kill processes, if so after all have been stopped; return those that were there."""
    there = []
    for number in [signal.SIGSTOP, signal.SIGKILL] if stopped else [signal.SIGKILL]:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                there += [pid] if number == signal.SIGKILL else []
    return there
