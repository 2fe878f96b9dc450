"""The settings that one host allows: candidates for a search, profiles to compare with, settings to try.

`verbs.tune` asks before a study begins, so that what the machine refuses is known before hours of measuring.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from becalm.errors import BootError, RefusedError
from becalm.hosts import Ability, Host, MeasureRequest
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.run import Block, Step
from becalm.nouns.search_space import Candidate, Space
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.profiles import SHIPPED, load
from becalm.study.session import StudySession
from becalm.tuning.candidates import NEEDS_ROOT, SearchLimits, candidates, left_out_by_choice
from becalm.tuning.factors import ends, factors

Tried = tuple[tuple[str, Settings], ...]
"""Settings to try instead of searching, each with a name."""


def probe_space(
    opened: StudySession, wanted: SearchLimits, rows: Sequence[Knob], kernel: Workload | None, *, compare_profiles: bool
) -> tuple[Space, tuple[Excluded, ...], dict[str, list[str]]]:
    """Return the space to search, the excluded knobs with reasons, and what this host lacks of profiles to compare
    with.

    With a `kernel` each candidate is put on once, for a short run of it, and what the machine refuses is left out.
    """
    host = opened.host
    asked_for, _ = candidates(rows, wanted, boot=[row.name for row in rows if row.boot is not None])
    refused = {} if kernel is None else _refused(opened, kernel, asked_for) | _ignored(opened, kernel, asked_for)
    profiles, unwanted = [], []
    partial: dict[str, list[str]] = {}
    for profile in map(load, SHIPPED) if compare_profiles else ():
        settings, missing = _supported(profile.settings, rows, host)
        settings = Settings.of({name: value for name, value in settings.values if name not in refused})
        unwanted_ones = [name for name, _ in settings.values if left_out_by_choice(find(rows, name), wanted)]
        if unwanted_ones:
            unwanted.append(Excluded(profile.name, f"sets {', '.join(unwanted_ones)}, which was left out as asked"))
            continue
        if kernel is not None:
            settings, ignored = _taken_at_boot(opened, kernel, settings, rows)
            missing = (*missing, *ignored)
        if settings.values:
            profiles.append((profile.name, settings))
            partial[profile.name] = [each.knob for each in missing]
    found, excluded = candidates(rows, wanted, profiles, refused, costs_boot(host, rows))
    if kernel is not None:
        found = _compatible(opened, kernel, found)
    return found, (*excluded, *unwanted), partial


def probe_factors(
    opened: StudySession, wanted: SearchLimits, rows: Sequence[Knob], asked: Sequence[str], kernel: Workload | None
) -> tuple[Space, tuple[Excluded, ...]]:
    """Return the factors of a search for the fastest settings, and the excluded ones with reasons.

    With a `kernel` both ends of each range, and each choice, are put on once for a short run of it. Raises UsageError
    for a factor that was asked for and cannot be.
    """
    found, _ = factors(rows, wanted, asked)
    refused: dict[str, str] = {}
    for each in found:
        if kernel is None or find(rows, each.name).scope == "boot":
            continue
        try:
            for value in ends(each):
                _try(opened, kernel, Settings.of({each.name: value}))
        except RefusedError as error:
            refused[each.name] = str(error)
    found, excluded = factors(rows, wanted, asked, refused)
    return Space((), (), costs_boot(opened.host, rows), found), excluded


def _refused(opened: StudySession, kernel: Workload, space: Space) -> dict[str, str]:
    """Return candidates that the machine itself refuses, with its reasons.

    All are tried at once first, since a machine that takes them together takes each; else each one in one short run.
    """
    tried = [candidate for candidate in space.candidates if candidate.knob not in space.boot]
    if len(tried) > 1:
        with contextlib.suppress(RefusedError):
            _put_on(opened, kernel, space, {name for each in tried for name in (each.knob, *each.requires)})
            return {}
    refused: dict[str, str] = {}
    for candidate in tried:
        try:
            _put_on(opened, kernel, space, {candidate.knob, *candidate.requires})
        except RefusedError as error:
            refused[candidate.knob] = str(error)
    return refused


def _ignored(opened: StudySession, kernel: Workload, space: Space) -> dict[str, str]:
    """Return the same of candidates that need a boot: all of them at once and, while some fail, the rest.

    The kernel tells which of its parameters it ignores; when the machine does not come up, each is tried by itself.
    """
    refused: dict[str, str] = {}
    left = [candidate for candidate in space.candidates if candidate.knob in space.boot]
    alone = False
    while left:
        now = left[:1] if alone else left
        try:
            _put_on(opened, kernel, space, {name for each in now for name in (each.knob, *each.requires)})
            left = left[len(now) :]
        except RefusedError as error:
            told = error.knobs if isinstance(error, BootError) else ()
            wrong = told or tuple(each.knob for each in now if len(now) == 1)
            refused |= dict.fromkeys(wrong, str(error))
            rest = [each for each in left if each.knob not in refused and not set(each.requires) & set(refused)]
            # Nobody was told, or somebody who is not there: one at a time.
            alone, left = alone or rest == left, rest
    return refused


def _taken_at_boot(
    opened: StudySession, kernel: Workload, settings: Settings, rows: Sequence[Knob]
) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return some settings without those of the boot that this machine does not take, and these: a profile has own
    values."""
    boot = {row.name for row in rows if row.boot is not None}
    asked = Settings.of({name: value for name, value in settings.values if name in boot})
    left_out: dict[str, Excluded] = {}
    while asked.values:
        try:
            _try(opened, kernel, asked)
            break
        except RefusedError as error:
            told = set(error.knobs if isinstance(error, BootError) else ()) & {name for name, _ in asked.values}
            gone = told or {name for name, _ in asked.values}
            left_out |= {name: Excluded(name, str(error)) for name in gone}
            asked = Settings.of({name: value for name, value in asked.values if name not in gone})
    kept = {name: value for name, value in settings.values if name not in left_out}
    return Settings.of(kept), tuple(left_out.values())


def _put_on(opened: StudySession, kernel: Workload, space: Space, knobs: set[str]) -> None:
    """Have some candidates on for one short run. Raises RefusedError."""
    _try(opened, kernel, space.settings(candidate for candidate in space.candidates if candidate.knob in knobs))


def _try(opened: StudySession, kernel: Workload, settings: Settings) -> None:
    opened.host.define([kernel], [settings], dangerous=opened.measuring.dangerous)
    for _ in opened.host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)))):
        pass


def costs_boot(host: Host, rows: Sequence[Knob]) -> tuple[str, ...]:
    """Return the knobs of which another value costs a boot: none where that takes no time."""
    costs = host.abilities()[Ability.REBOOT] and host.boot_ns != 0
    return tuple(row.name for row in rows if row.scope == "boot") if costs else ()


def _compatible(opened: StudySession, kernel: Workload, space: Space) -> Space:
    """Return the space with the pairs of candidates that the machine does not take together, each at the later of the
    two."""

    def taken(*candidates: Candidate) -> bool:
        needed = {knob for candidate in candidates for knob in (candidate.knob, *candidate.requires)}
        settings = space.settings(candidate for candidate in space.candidates if candidate.knob in needed)
        try:
            opened.host.define([kernel], [settings], dangerous=opened.measuring.dangerous)
        except RefusedError:
            return False
        return True

    if taken(*space.candidates):
        return space
    marked: list[Candidate] = []
    for candidate in space.candidates:
        conflicts = tuple(earlier.knob for earlier in marked if not taken(earlier, candidate))
        marked.append(replace(candidate, conflicts=conflicts))
    return replace(space, candidates=tuple(marked))


def _supported(settings: Settings, rows: Sequence[Knob], host: Host) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return those of some settings that a host can set now, and the excluded ones with reasons."""
    able = host.abilities()
    known, values, left_out = {row.name: row for row in rows}, {}, []
    for name, value in settings.values:
        row = known.get(name)
        if row is None:
            left_out.append(Excluded(name, "this host does not have it"))
        elif not row.supported:
            left_out.append(Excluded(name, row.reason or "not supported here"))
        elif row.scope == "boot" and not able[Ability.REBOOT]:
            left_out.append(Excluded(name, able[Ability.REBOOT].reason))
        elif not able[Ability.MACHINE_SETTINGS] and row.needs_rights(value):
            left_out.append(Excluded(name, NEEDS_ROOT))
        else:
            values[name] = value
    return Settings.of(values), tuple(left_out)


def tried_on(
    tried: Tried, rows: Sequence[Knob], programs: Sequence[Workload], opened: StudySession
) -> tuple[Tried, tuple[Excluded, ...]]:
    """Return the tried settings that this host takes. Raises UsageError for unknown ones and for missing consent."""
    host, kept = opened.host, []
    left_out: dict[str, Excluded] = {}
    for name, settings in tried:
        for knob, _ in settings.values:
            find(rows, knob)
        settings, missing = _supported(settings, rows, host)
        kept.append((name, settings))
        left_out |= {each.knob: each for each in missing}
    # Now, and not after the first look: what it does not take is the person's to know.
    host.define(programs, [settings for _, settings in kept], dangerous=opened.measuring.dangerous)
    return tuple(kept), tuple(left_out.values())
