"""The limits of timers by host, each stored until a later evaluation of that host has a result.

They are in a JSON file of the state directory, and timed regions are judged by them (`becalm import`, `becalm compare
--regions`). The file is separate from the cells of the last evaluation, which any other evaluation replaces.
"""

from __future__ import annotations

import json

import msgspec

from becalm import paths
from becalm.errors import MachineError
from becalm.nouns.codec import plain_dict

PLACE = "timer_limits.json"


class TimerLimits(msgspec.Struct, frozen=True):
    """The limits of becalm-clock's reads with all code near, in ns, and the rate of their clock."""

    hz: float
    t_diff_ns: float
    t_min_ns: float


def keep(host: str, limit: TimerLimits) -> None:
    """Store the limits of a host in place of its earlier ones. Raises MachineError."""
    path = paths.state_dir() / PLACE
    limits = {name: plain_dict(kept_limit) for name, kept_limit in load_limits().items() if name != host}
    try:
        new = path.with_suffix(".new")
        # The latest comes last.
        new.write_text(json.dumps({**limits, host: plain_dict(limit)}), encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise MachineError(f"The limits of the timer cannot be stored in {path}: {error.strerror}.") from error


def load_limits() -> dict[str, TimerLimits]:
    """Return the stored limits by host, the latest last; none from a damaged file. Raises MachineError."""
    path = paths.state_dir() / PLACE
    try:
        limits = json.loads(path.read_bytes())
        return {str(host): TimerLimits(**limit) for host, limit in limits.items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, AttributeError):
        return {}
