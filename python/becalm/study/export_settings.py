"""The places that settings write on a machine, with their original values, for files that work without becalm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from becalm.errors import BecalmError, UsageError
from becalm.hosts import Host
from becalm.line import ControlCharacterError, Line
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.settings import Settings
from becalm.results.export_settings import ProductionPlan, SettingPlace, Where
from becalm.wording import export_settings as sentences
from becalm.wording.printable import one_line

DEBUGFS, SYSCTL, LATENCY = "/sys/kernel/debug/", "/proc/sys/", "/dev/cpu_dma_latency"

OF_UNIT = ("cpu_weight",)
"""Settings of the machine that are properties of a systemd unit, which has a control group of its own."""


def production_plan(machine: Host, settings: Settings) -> ProductionPlan:
    """Return the places of settings on a machine, in the order of applying them, and settings that no file can hold.

    Raises MachineError, and UsageError where the host has no settings of a machine.
    """
    rows = machine.knobs()
    places: list[SettingPlace] = []
    left: list[Excluded] = []
    live: dict[str, str | int | bool] = {}
    for name, value in settings.values:
        knob = find(rows, name)
        if not knob.supported:
            left.append(Excluded(name, knob.reason or "not supported here"))
        elif knob.scope == "process" or name in OF_UNIT:
            new_places = list(_program_places(knob, str(value)))
            places += new_places
            left += [] if new_places else [Excluded(name, sentences.no_property(name))]
        elif knob.scope == "boot":
            new_places = list(_boot_places(machine, knob, value))
            places += new_places
            left += [] if new_places else [Excluded(name, f"what {value} is on this machine cannot be seen")]
        elif name in sentences.BY_HAND:
            left.append(Excluded(name, sentences.BY_HAND[name]))
        else:
            live[name] = value
    live_places, lacking = _live_places(machine, rows, Settings.of(live))
    facts = machine.facts()
    return ProductionPlan(
        one_line(hostname_of(facts)), one_line(kernel_of(facts)), (*live_places, *places), (*left, *lacking)
    )


def _live_places(machine: Host, rows: Sequence[Knob], settings: Settings) -> tuple[list[SettingPlace], list[Excluded]]:
    """Return the places that settings of the running machine write, with the values before becalm."""
    if not settings.values:
        return [], []
    # A value that becalm has applied is not the original one.
    ours = {place.place: place.original for place in machine.status().places}
    places, left = [], {}
    for change in machine.plan(settings, dangerous=True).changes:
        knob = find(rows, change.knob)
        where = _kind_of_file(change.place)
        if where is None or (where is Where.LATENCY and not change.after.isdecimal()):
            left[change.knob] = Excluded(change.knob, sentences.no_file(change.knob, change.place))
            continue
        before = ours.get(change.place, change.before)
        if where is Where.LATENCY:
            before = None
        path, after = change.place, change.after
        if where is Where.FEATURE:
            # Each word of this file is a place of its own.
            path, _, name = path.partition(" ")
            after, before = feature(name, after), None if before is None else feature(name, before)
        try:
            places.append(_place(knob, where, path, after, before))
        except ControlCharacterError as error:
            left[change.knob] = Excluded(change.knob, sentences.no_line(change.place, str(error)))
    return [place for place in places if place.knob not in left], list(left.values())


def _kind_of_file(place: str) -> Where | None:
    """Return the kind of file of a place; None for a place without one, or whose name changes with the next start."""
    if place == LATENCY:
        return Where.LATENCY
    if place.startswith(DEBUGFS) and " " in place:
        return Where.FEATURE
    for prefix, where in ((SYSCTL, Where.SYSCTL), (DEBUGFS, Where.DEBUG), ("/sys/fs/cgroup/", None)):
        if place.startswith(prefix):
            return where
    return Where.FILE if place.startswith("/sys/") else None


def feature(name: str, value: str) -> str:
    """Return the word for the scheduler's file of features: a name, or NO_ and the name (kernel/sched/debug.c)."""
    return name if value == "on" else f"NO_{name}"


def _boot_places(machine: Host, knob: Knob, value: str | int | bool) -> Iterator[SettingPlace]:
    """Yield the kernel parameters of a boot setting, as this machine spells them."""
    with suppress(BecalmError):
        for effect in machine.boot_entry().effects(Settings.of({knob.name: value}), dangerous=True):
            words = " ".join(effect["parameters"])
            with suppress(ControlCharacterError):
                yield _place(knob, Where.BOOT, words, words)


def _program_places(knob: Knob, value: str) -> Iterator[SettingPlace]:
    """Yield the properties of a unit for a knob (systemd.exec(5)); none for a knob that systemd lacks."""
    kind, _, level = value.partition(":")
    pairs: list[tuple[str, str]] = {
        "nice": [("Nice", value)],
        "cpus": [("CPUAffinity", value)],
        "io_priority": [("IOSchedulingClass", kind), *([("IOSchedulingPriority", level)] if level else [])],
        "policy": [("CPUSchedulingPolicy", kind), *([("CPUSchedulingPriority", level)] if level else [])],
        "cpu_weight": [("CPUWeight", value)],
    }.get(knob.name, [])
    for name, text in pairs:
        try:
            yield _place(knob, Where.PROGRAM, name, text)
        except ControlCharacterError as error:
            raise UsageError(f"The value of {knob.name} {error}. Nothing was written.") from None


def _place(knob: Knob, where: Where, path: str, after: str, before: str | None = None) -> SettingPlace:
    """Return a place whose texts have one line each. Raises ControlCharacterError for other texts."""
    line = None if before is None else Line(before)
    why, costs = one_line(knob.rationale), one_line(knob.costs)
    return SettingPlace(one_line(knob.name), where, Line(path), Line(after), line, why, costs)


def hostname_of(facts: Mapping[str, Any]) -> str:
    """Return the name of a machine; empty where it is unknown."""
    return str((facts.get("host") or {}).get("hostname") or "")


def kernel_of(facts: Mapping[str, Any]) -> str:
    """Return the kernel's release, as `uname -r` prints it; empty where it is unknown."""
    return str((facts.get("kernel") or {}).get("release") or "")
