"""Settings of the boot put on to stay: for one start, and, when that went well, for every one (docs/how-to/reboot.md).

A part of `apply`, in steps that may lie hours apart: the entry is written, the machine starts with it, the start is
looked at, the entry is kept. Each call finds out how far it is and does what comes next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from becalm import hosts
from becalm.errors import BootError, UsageError
from becalm.hosts import Ability, Host
from becalm.hosts.boot_entry import BootEntryHost
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find, known
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.results.settings import ApplyResult, BootApplied, Change

Effects = Sequence[Mapping[str, Any]]


def apply_boot(
    agent: Host, profile: Profile, *, dangerous: bool, strict: bool, dry_run: bool, restart: bool, keep: bool
) -> ApplyResult:
    """Put what a profile sets at boot on. `restart`: the machine may be started again now; `keep`: have every start be
    with it, when this one is and went well.

    Raises UsageError, RefusedError; BootError when the machine did not come up with the parameters, or they do nothing.
    """
    loader = agent.boot_entry()
    settings, skipped = _of_the_boot(profile, agent.knobs())
    if strict and skipped:
        raise UsageError(f"Not everything of {profile.name} can be set: {skipped[0].knob}: {skipped[0].reason}.")
    if not settings.values:
        raise UsageError(f"Nothing of {profile.name} is set at boot here. {_reasons(skipped)}")
    effects = loader.effects(settings, dangerous=dangerous)
    parameters = tuple(word for effect in effects for word in effect["parameters"])
    if dry_run:
        return ApplyResult(profile.name, _changes(effects), skipped, dry_run=True)
    found = agent.status().boot
    here = found is not None and found.running and set(found.parameters) == set(parameters)
    if not here:
        if keep and not restart:
            raise UsageError(
                f"Kept is what this machine runs with, and that is not {' '.join(parameters)}. First without --keep, "
                "for one start; when that went well, with it."
            )
        if not restart:
            armed = loader.boot(parameters, dangerous=dangerous)
            remarks = tuple(armed["remarks"])
            state = BootApplied("armed", parameters, armed["limit_s"])
            return ApplyResult(profile.name, _changes(effects), skipped, remarks, boot=state)
        hosts.need(agent.name, agent.abilities(), Ability.REBOOT)
        loader.start(parameters)
    remarks = _went_well(loader, settings, parameters)
    kept = found is not None and here and found.kept and found.armed
    if keep and not kept:
        loader.keep_boot(parameters)
    state = BootApplied("kept" if keep or kept else "on", parameters)
    return ApplyResult(profile.name, _changes(effects), skipped, remarks, boot=state)


def _of_the_boot(profile: Profile, rows: Sequence[Knob]) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings of a profile that are set at boot and possible here, and the excluded ones with reasons."""
    values, skipped = {}, []
    for name, value in profile.settings.values:
        knob = find(rows, name)
        if knob.scope != "boot":
            skipped.append(Excluded(name, "not set at boot, but without --boot"))
        elif not knob.supported:
            skipped.append(Excluded(name, knob.reason or "not supported here"))
        else:
            values[name] = value
    return Settings.of(values), tuple(skipped)


def _reasons(skipped: Sequence[Excluded]) -> str:
    """Return a sentence for each reason, with all settings that have it."""
    together: dict[str, list[str]] = {}
    for excluded in skipped:
        together.setdefault(excluded.reason, []).append(excluded.knob)
    return " ".join(f"{', '.join(names)}: {reason}." for reason, names in together.items())


def _changes(effects: Effects) -> tuple[Change, ...]:
    return tuple(
        Change(effect["knob"], "/proc/cmdline", None, " ".join(effect["parameters"]), not effect["taken"])
        for effect in effects
    )


def _went_well(loader: BootEntryHost, settings: Settings, parameters: tuple[str, ...]) -> tuple[str, ...]:
    """See that this boot is the one that was asked for, and what the kernel made of it. Gives remarks; BootError."""
    health = loader.healthy()
    if not health["ours"] or set(health["parameters"]) != set(parameters):
        raise BootError(f"This is not the start that was asked for. {health['sentence']} {' '.join(health['remarks'])}")
    effects = loader.effects(settings, dangerous=True)
    if ignored := [effect for effect in effects if effect["taken"] is False]:
        said = (f"{' '.join(each['parameters'])} was given, but {each['how']}." for each in ignored)
        raise BootError(
            f"{' '.join(said)} The next start is as always; to have the list of the entry tidied up: becalm reset",
            tuple(each["knob"] for each in ignored),
        )
    remarks = [*health["remarks"]]
    for effect in effects:
        row = known()[effect["knob"]].boot
        if effect["taken"] is None:
            remarks.append(f"Whether the kernel took {' '.join(effect['parameters'])} cannot be seen: {effect['how']}.")
        if row is not None and row.binds:
            remarks.append(
                f"Nothing runs on CPU {effect['cpus']} by itself now: --set cpus={effect['cpus']} puts a program there."
            )
    return tuple(remarks)
