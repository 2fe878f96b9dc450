"""The results of applying and restoring settings (values)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import decode
from becalm.nouns.excluded import Excluded
from becalm.nouns.result import Result


def renamed(row: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return a row of the agent with its keys renamed to fields. `names`: the field for each renamed key."""
    return {names.get(key, key): value for key, value in row.items()}


class Change(msgspec.Struct, frozen=True):
    """A place that settings write: its present value and the new one. `changes` is False if both are equal."""

    knob: str
    place: str
    before: str | None
    after: str
    changes: bool

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Change:
        """Return the value for the agent's form."""
        return cls(row["knob"], row["place"], row["from"], row["to"], row["changes"])


class BootApplied(msgspec.Struct, frozen=True):
    """The result of applying settings of the boot. `parameters`: their words on the kernel's command line.

    `state` is `armed` (the next start has them; `limit_s` after it the machine restarts by itself unless becalm
    confirms the boot), `on` (this boot has them, and the kernel accepted them) or `kept` (every start has them,
    including this one).
    """

    state: str
    parameters: tuple[str, ...]
    limit_s: int = 0


class ApplyResult(Result, frozen=True):
    """The result of `apply`, or with `dry_run` the expected one. `exit_code`: of the command, if there was one. `boot`:
    the result for settings of the boot, with `--boot`."""

    KIND = "apply"

    profile: str
    changes: tuple[Change, ...] = ()
    skipped: tuple[Excluded, ...] = ()
    remarks: tuple[str, ...] = ()
    took_ns: int | None = None
    dry_run: bool = False
    exit_code: int | None = None
    boot: BootApplied | None = None

    @property
    def sentence(self) -> str:
        """The sentence with the settings that were applied, or would be."""
        names = ", ".join(dict.fromkeys(change.knob for change in self.changes)) or "nothing"
        return f"{self.profile} {'would set' if self.dry_run else 'has set'} {names}."


class RestoredPlace(msgspec.Struct, frozen=True):
    """A place after `reset`.

    `fate` is untouched, restored, returning (an interrupt that goes back when it next fires, if the kernel lets it),
    foreign (changed by somebody else), gone or failed.
    """

    knob: str
    place: str
    original: str
    now: str
    fate: str
    error: str = ""


class Reset(Result, frozen=True):
    """The result of `reset`.

    - `unsettled`: a sentence for each place that is not as it was before becalm
    - `elsewhere`: a sentence for each device whose interrupts are not back at the CPU where they arrived
    - `staying`: the number of further devices that only a restart brings back, of which becalm had warned
    - `owner`: the user who had applied the settings; empty if there were none
    """

    KIND = "reset"

    places: tuple[RestoredPlace, ...] = ()
    unsettled: tuple[str, ...] = ()
    sentence: str = ""
    elsewhere: tuple[str, ...] = ()
    staying: int = 0
    owner: str = ""

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> Reset:
        """Return the value for the agent's form."""
        return decode(cls, {**answer, "places": [renamed(place, found="now") for place in answer["places"]]})


class Held(msgspec.Struct, frozen=True):
    """A place in the journal: its value before becalm, becalm's value, and the present one.

    `requested`: the value that becalm wrote, if the kernel stored another one.
    """

    knob: str
    place: str
    original: str
    ours: str | None
    now: str | None
    side_effect: bool
    requested: str | None = None


class BootFile(msgspec.Struct, frozen=True):
    """A file written for a boot entry; `state` is ours, gone or changed (by somebody else), None when unreadable."""

    path: str
    state: str | None


class BootEntry(msgspec.Struct, frozen=True):
    """An entry for one boot (docs/how-to/reboot.md). `at`: Unix time, s; `limit_s`: seconds.

    - `armed`: whether the next start uses it
    - `running`: whether the machine runs with it now
    - `waiting`: whether the machine restarts by itself `limit_s` after its start
    - `permanent`: whether every start uses it, as long as each goes well
    - `default_kernel`: the kernel that starts by default, if it differs from the entry's `kernel`
    - `entry`: empty if the entry was removed and is only still running
    - `damaged`: the record that cannot be read; then nothing else is known
    """

    loader: str = ""
    entry: str = ""
    mark: str = ""
    parameters: tuple[str, ...] = ()
    limit_s: int = 0
    title: str = ""
    user: str = ""
    at: int = 0
    files: tuple[BootFile, ...] = ()
    armed: bool = False
    running: bool = False
    waiting: bool = False
    permanent: bool = False
    kernel: str = ""
    default_kernel: str | None = None
    damaged: str | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> BootEntry:
        """Return the value for the agent's form."""
        return decode(cls, renamed(row, kept="permanent"))


class LeftGroup(msgspec.Struct, frozen=True):
    """A control group that a killed becalm left; `processes`: the number of processes still in it."""

    path: str
    processes: int


class Status(Result, frozen=True):
    """The settings that are applied, who applied them and when; `title` is empty when nothing is applied.

    - `at`: Unix time, s
    - `standing`: whether the settings stay until reset; otherwise their becalm is running (`busy` names it) or was
      killed
    - `this_boot`: False when the machine was restarted since
    - `note`: a sentence about settings that were restored in the absence of the user
    - `boot`: an existing entry for one boot; it outlives restarts
    - `elsewhere`: a sentence for each interrupt that becalm has moved and that is not back at the CPU where it arrived
    - `groups`: control groups of killed becalms
    """

    KIND = "status"

    title: str = ""
    user: str = ""
    pid: int = 0
    at: int = 0
    this_boot: bool = True
    standing: Mapping[str, Any] | None = None
    places: tuple[Held, ...] = ()
    damaged: tuple[int, ...] = ()
    busy: str | None = None
    note: str | None = None
    anything: bool = False
    boot: BootEntry | None = None
    elsewhere: tuple[str, ...] = ()
    groups: tuple[LeftGroup, ...] = ()

    @property
    def sentence(self) -> str:
        """The sentence with the applied settings and their places."""
        if not self.title:
            return "becalm has no settings on."
        places = ", ".join(f"{held.place} = {held.ours}" for held in self.places if not held.side_effect)
        return f"{self.title} is on: {places}."

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> Status:
        """Return the value for the agent's form."""
        members = {name: answer[name] for name in ("busy", "note", "elsewhere", "groups", "boot") if name in answer}
        if (journal := answer["journal"]) is not None:
            places = [renamed(place, asked="requested") for place in journal["places"]]
            members = {**renamed(journal, kept="standing"), **members, "places": places, "anything": True}
        return decode(cls, members)
