"""The settings that a host accepts: candidates for a search, profiles to compare with, and settings to try.

`verbs.tune` probes them before a study begins, so that refusals are known before hours of measuring.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec.structs import replace

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
    """Return the space to search, the excluded knobs with reasons, and the knobs that this host lacks of each profile.

    With a `kernel` each candidate is applied once for a short run of it, and what the machine refuses is left out.
    `compare_profiles`: whether to add the shipped profiles to the space.
    """
    host = opened.host
    widest, _ = candidates(rows, wanted, boot=[row.name for row in rows if row.boot is not None])
    refused = {} if kernel is None else _refused(opened, kernel, widest) | _ignored(opened, kernel, widest)
    profiles, unwanted = [], []
    partial: dict[str, list[str]] = {}
    for profile in map(load, SHIPPED) if compare_profiles else ():
        settings, missing = _supported(profile.settings, rows, host)
        settings = Settings.of({name: value for name, value in settings.values if name not in refused})
        unwanted_ones = [name for name, _ in settings.values if left_out_by_choice(find(rows, name), wanted)]
        if unwanted_ones:
            unwanted.append(Excluded(profile.name, f"sets {', '.join(unwanted_ones)}, which was left out on request"))
            continue
        if kernel is not None:
            settings, ignored = _accepted_at_boot(opened, kernel, settings, rows)
            missing = (*missing, *ignored)
        if settings.values:
            profiles.append((profile.name, settings))
            partial[profile.name] = [exclusion.knob for exclusion in missing]
    space, excluded = candidates(rows, wanted, profiles, refused, costs_boot(host, rows))
    if kernel is not None:
        space = _compatible(opened, kernel, space)
    return space, (*excluded, *unwanted), partial


def probe_factors(
    opened: StudySession, wanted: SearchLimits, rows: Sequence[Knob], requested: Sequence[str], kernel: Workload | None
) -> tuple[Space, tuple[Excluded, ...]]:
    """Return the factors of a search for the fastest settings, and the excluded ones with reasons.

    With a `kernel` both ends of each range, and each choice, are applied once for a short run of it. Raises UsageError
    for a requested factor that is impossible.
    """
    selected, _ = factors(rows, wanted, requested)
    refused: dict[str, str] = {}
    for factor in selected:
        if kernel is None or find(rows, factor.name).scope == "boot":
            continue
        try:
            for value in ends(factor):
                _try(opened, kernel, Settings.of({factor.name: value}))
        except RefusedError as error:
            refused[factor.name] = str(error)
    selected, excluded = factors(rows, wanted, requested, refused)
    return Space((), (), costs_boot(opened.host, rows), selected), excluded


def _refused(opened: StudySession, kernel: Workload, space: Space) -> dict[str, str]:
    """Return the reasons for candidates that the machine refuses, by knob.

    All are tried together first, since a machine that accepts them together accepts each; otherwise one by one.
    """
    tried = [candidate for candidate in space.candidates if candidate.knob not in space.boot]
    if len(tried) > 1:
        with contextlib.suppress(RefusedError):
            _apply(
                opened, kernel, space, {name for candidate in tried for name in (candidate.knob, *candidate.requires)}
            )
            return {}
    refused: dict[str, str] = {}
    for candidate in tried:
        try:
            _apply(opened, kernel, space, {candidate.knob, *candidate.requires})
        except RefusedError as error:
            refused[candidate.knob] = str(error)
    return refused


def _ignored(opened: StudySession, kernel: Workload, space: Space) -> dict[str, str]:
    """Return the reasons for refused candidates that need a boot, by knob.

    All are tried together, then the rest while some fail: the kernel reports which parameters it ignores. When the
    machine does not come up, each is tried by itself.
    """
    refused: dict[str, str] = {}
    left = [candidate for candidate in space.candidates if candidate.knob in space.boot]
    alone = False
    while left:
        now = left[:1] if alone else left
        try:
            _apply(opened, kernel, space, {name for candidate in now for name in (candidate.knob, *candidate.requires)})
            left = left[len(now) :]
        except RefusedError as error:
            ignored = error.knobs if isinstance(error, BootError) else ()
            wrong = ignored or tuple(candidate.knob for candidate in now if len(now) == 1)
            refused |= dict.fromkeys(wrong, str(error))
            rest = [
                candidate
                for candidate in left
                if candidate.knob not in refused and not set(candidate.requires) & set(refused)
            ]
            # The error names no candidate of this boot, so they are tried one at a time.
            alone, left = alone or rest == left, rest
    return refused


def _accepted_at_boot(
    opened: StudySession, kernel: Workload, settings: Settings, rows: Sequence[Knob]
) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return settings without the boot settings whose values this machine refuses, and the excluded ones."""
    boot = {row.name for row in rows if row.boot is not None}
    remaining = Settings.of({name: value for name, value in settings.values if name in boot})
    left_out: dict[str, Excluded] = {}
    while remaining.values:
        try:
            _try(opened, kernel, remaining)
            break
        except RefusedError as error:
            rejected = set(error.knobs if isinstance(error, BootError) else ()) & {name for name, _ in remaining.values}
            gone = rejected or {name for name, _ in remaining.values}
            left_out |= {name: Excluded(name, str(error)) for name in gone}
            remaining = Settings.of({name: value for name, value in remaining.values if name not in gone})
    values = {name: value for name, value in settings.values if name not in left_out}
    return Settings.of(values), tuple(left_out.values())


def _apply(opened: StudySession, kernel: Workload, space: Space, knobs: set[str]) -> None:
    """Apply the candidates of some knobs for one short run. Raises RefusedError."""
    _try(opened, kernel, space.settings(candidate for candidate in space.candidates if candidate.knob in knobs))


def _try(opened: StudySession, kernel: Workload, settings: Settings) -> None:
    opened.host.define([kernel], [settings], dangerous=opened.measuring.dangerous)
    for _ in opened.host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)))):
        pass


def costs_boot(host: Host, rows: Sequence[Knob]) -> tuple[str, ...]:
    """Return the knobs whose changes cost a boot; none where a boot takes no time."""
    costs = host.abilities()[Ability.REBOOT] and host.boot_ns != 0
    return tuple(row.name for row in rows if row.scope == "boot") if costs else ()


def _compatible(opened: StudySession, kernel: Workload, space: Space) -> Space:
    """Return the space with conflicts: each candidate lists the earlier ones that the machine refuses with it."""

    def accepts(*candidates: Candidate) -> bool:
        needed = {knob for candidate in candidates for knob in (candidate.knob, *candidate.requires)}
        settings = space.settings(candidate for candidate in space.candidates if candidate.knob in needed)
        try:
            opened.host.define([kernel], [settings], dangerous=opened.measuring.dangerous)
        except RefusedError:
            return False
        return True

    if accepts(*space.candidates):
        return space
    marked: list[Candidate] = []
    for candidate in space.candidates:
        conflicts = tuple(earlier.knob for earlier in marked if not accepts(earlier, candidate))
        marked.append(replace(candidate, conflicts=conflicts))
    return replace(space, candidates=tuple(marked))


def _supported(settings: Settings, rows: Sequence[Knob], host: Host) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings that a host can apply now, and the excluded ones with reasons."""
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


def supported_trials(
    tried: Tried, rows: Sequence[Knob], programs: Sequence[Workload], opened: StudySession
) -> tuple[Tried, tuple[Excluded, ...]]:
    """Return the settings to try that this host accepts, and the excluded ones.

    Raises UsageError for unknown settings and for missing consent.
    """
    host, accepted = opened.host, []
    left_out: dict[str, Excluded] = {}
    for name, settings in tried:
        for knob, _ in settings.values:
            find(rows, knob)
        settings, missing = _supported(settings, rows, host)
        accepted.append((name, settings))
        left_out |= {exclusion.knob: exclusion for exclusion in missing}
    # A refusal is reported now, before anything is measured.
    host.define(programs, [settings for _, settings in accepted], dangerous=opened.measuring.dangerous)
    return tuple(accepted), tuple(left_out.values())
