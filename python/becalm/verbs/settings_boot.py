"""Boot settings applied for one start and, when that went well, for every one (docs/how-to/reboot.md).

A part of `apply`, in steps that may be hours apart: the entry is written, the machine starts with it, the start is
checked, the entry is kept. Each call determines which step was last and does the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from becalm import hosts
from becalm.errors import BootError, UsageError
from becalm.hosts import Ability, Host
from becalm.hosts.boot_entry import BootEntryHost
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find, knobs_by_name
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.results.settings import ApplyResult, BootApplied, Change

Effects = Sequence[Mapping[str, Any]]


def apply_boot(
    agent: Host, profile: Profile, *, dangerous: bool, strict: bool, dry_run: bool, restart: bool, keep: bool
) -> ApplyResult:
    """Apply the boot settings of a profile.

    `restart`: the machine may be restarted now; `keep`: apply the settings at every start, once this one has them and
    went well.

    Raises UsageError, RefusedError; BootError when the machine did not start with the parameters, or they do nothing.
    """
    loader = agent.boot_entry()
    settings, skipped = _of_the_boot(profile, agent.knobs())
    if strict and skipped:
        raise UsageError(
            f"Not all settings of {profile.name} can be set: {skipped[0].knob}: {skipped[0].reason}. Nothing was set."
        )
    if not settings.values:
        raise UsageError(f"No setting of {profile.name} is set at boot here. {_reasons(skipped)}")
    effects = loader.effects(settings, dangerous=dangerous)
    parameters = tuple(word for effect in effects for word in effect["parameters"])
    if dry_run:
        return ApplyResult(profile.name, _changes(effects), skipped, dry_run=True)
    boot = agent.status().boot
    here = boot is not None and boot.running and set(boot.parameters) == set(parameters)
    if not here:
        if keep and not restart:
            raise UsageError(
                f"--keep is for parameters that this machine was started with, and it was not started with "
                f"{' '.join(parameters)}. First apply them without --keep, for one start; when that went well, with it."
            )
        if not restart:
            armed = loader.boot(parameters, dangerous=dangerous)
            remarks = tuple(armed["remarks"])
            state = BootApplied("armed", parameters, armed["limit_s"])
            return ApplyResult(profile.name, _changes(effects), skipped, remarks, boot=state)
        hosts.need(agent.name, agent.abilities(), Ability.REBOOT)
        loader.start(parameters)
    remarks = _went_well(loader, settings, parameters)
    kept_already = boot is not None and here and boot.permanent and boot.armed
    if keep and not kept_already:
        loader.keep_boot(parameters)
    state = BootApplied("kept" if keep or kept_already else "on", parameters)
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
    """Check that this start has the requested parameters and that the kernel accepted them; return remarks.

    Raises BootError.
    """
    health = loader.healthy()
    if not health["ours"] or set(health["parameters"]) != set(parameters):
        raise BootError(f"The machine did not start as requested. {health['sentence']} {' '.join(health['remarks'])}")
    effects = loader.effects(settings, dangerous=True)
    if ignored := [effect for effect in effects if effect["taken"] is False]:
        sentences = (f"{' '.join(effect['parameters'])} was given, but {effect['how']}." for effect in ignored)
        raise BootError(
            f"{' '.join(sentences)} The next start is as usual. To remove what is left of the entry: becalm reset",
            tuple(effect["knob"] for effect in ignored),
        )
    remarks = [*health["remarks"]]
    for effect in effects:
        row = knobs_by_name()[effect["knob"]].boot
        if effect["taken"] is None:
            remarks.append(f"Whether the kernel took {' '.join(effect['parameters'])} cannot be seen: {effect['how']}.")
        if row is not None and row.binds:
            remarks.append(
                f"Nothing runs on CPU {effect['cpus']} by itself now: --set cpus={effect['cpus']} puts a program there."
            )
    return tuple(remarks)
