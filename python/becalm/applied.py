"""What became of settings that were put on or taken off (values)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from becalm.steadiness import Excluded


@dataclass(frozen=True, slots=True)
class Change:
    """One place that settings write: what it held, and what it gets. `changes` is False when it holds that already."""

    knob: str
    place: str
    before: str | None
    after: str
    changes: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did, or with `dry_run` would do. `exit_code`: of the command, where there was one."""

    profile: str
    changes: tuple[Change, ...] = ()
    skipped: tuple[Excluded, ...] = ()
    remarks: tuple[str, ...] = ()
    took_ns: int | None = None
    dry_run: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """One place after `reset`: `fate` is untouched, restored, foreign (changed by somebody else), gone or failed."""

    knob: str
    place: str
    original: str
    found: str
    fate: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Reset:
    """What `reset` did. `unsettled`: a sentence for each place that is not as it was before becalm."""

    places: tuple[Put, ...] = ()
    unsettled: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """One place that the journal knows: its value before becalm, becalm's, and the present one."""

    knob: str
    place: str
    original: str
    ours: str | None
    now: str | None
    side_effect: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Who set what when; `title` is empty when nothing is set.

    `at`: Unix time, s. `kept`: the settings stay until reset; else their becalm is running (`busy` says which) or was
    killed. `this_boot` is False when the machine was restarted since. `note`: what was put back while nobody watched.
    """

    title: str = ""
    user: str = ""
    pid: int = 0
    at: int = 0
    this_boot: bool = True
    kept: Mapping[str, Any] | None = None
    places: tuple[Held, ...] = ()
    damaged: tuple[int, ...] = ()
    busy: str | None = None
    note: str | None = None
    anything: bool = False
