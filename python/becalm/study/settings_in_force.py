"""The settings in force while programs run: a profile as far as the machine has it, and those applied before.

Settings that stay applied until `becalm reset` also act on the programs that becalm starts. They are not applied again,
and a verdict names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from becalm.errors import RefusedError
from becalm.hosts import Ability, Host
from becalm.nouns.codec import Json
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.profiles import Profile
from becalm.study.session_options import SessionOptions
from becalm.study.settings_profile import describe_machine, machine_of
from becalm.wording import study_findings

NEEDS_ROOT = "isolation"
"""The knob that keeps CPUs free, on which only root can start programs."""


DELAYS = "delay_accounting"
"""The knob with which the kernel counts the time that programs wait for disk and memory."""


def lacks_delays(host: Host) -> bool:
    """Return whether delay accounting is off on a host and becalm may switch it."""
    scheduler = host.facts().get("scheduler")
    off = isinstance(scheduler, Mapping) and scheduler.get("delay_accounting") is False
    return off and bool(host.abilities().get(Ability.MACHINE_SETTINGS))


def in_force(
    host: Host, session: SessionOptions, study: Study, warned: Callable[[str], object] | None = None
) -> tuple[Study, Settings]:
    """Return the study with the settings to apply for each of its settings, and those already applied.

    A profile is applied as far as the machine has its knobs; the study's own settings override it. `warned`, or else
    the session's listener, is called with the settings that were left out and the applied settings that do not reach
    these programs. Raises UsageError, MachineError.
    """
    warned = warned or session.listener.warned
    standing = Settings.of(host.facts().get("kept"))
    if not standing.values and session.profile is None:
        return study, standing
    chosen = (
        Settings() if session.profile is None else _profile_settings(host, session.profile, session.dangerous, warned)
    )
    _warn_needs_root(host, standing, warned)
    settings = [_without_standing({**chosen.to_json(), **setting.to_json()}, standing) for setting in study.settings]
    return replace(study, settings=tuple(settings)), standing


def not_in_force(host: Host, settings: Settings, warned: Callable[[str], object]) -> Settings:
    """Return the settings that are not applied yet, and warn of applied settings that do not reach the program."""
    standing = Settings.of(host.facts().get("kept"))
    _warn_needs_root(host, standing, warned)
    return _without_standing(settings.to_json(), standing)


def _warn_needs_root(host: Host, settings: Settings, warned: Callable[[str], object]) -> None:
    if settings.to_json().get(NEEDS_ROOT) and not host.abilities()[Ability.MACHINE_SETTINGS]:
        warned(study_findings.needs_root(NEEDS_ROOT))


def _without_standing(wanted: Mapping[str, Json], settings: Settings) -> Settings:
    on = settings.to_json()
    return Settings.of({name: value for name, value in wanted.items() if str(on.get(name)) != str(value)})


def _profile_settings(host: Host, profile: Profile, dangerous: bool, warned: Callable[[str], object]) -> Settings:
    can = host.abilities()
    settings, skipped = usable(profile, host.knobs(), with_program=True, boot=bool(can.get(Ability.REBOOT)))
    settings, lacking = accepted(host, settings, dangerous) if can.get(Ability.HOLD) else (settings, ())
    for exclusion in (*skipped, *lacking):
        warned(f"Left out of {profile.name}: {exclusion.knob}: {exclusion.reason}.")
    for sentence in machine_remarks(profile, host):
        warned(sentence)
    return settings


def usable(
    profile: Profile, rows: Sequence[Knob], *, with_program: bool, boot: bool = False
) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings of a profile that can be set here now, and the excluded ones with reasons.

    `with_program`: whether becalm starts a program; otherwise only settings of the machine are usable. `boot`: whether
    the host may be restarted.
    """
    values, skipped = {}, []
    for name, value in profile.settings.values:
        knob = find(rows, name)
        if knob.scope == "boot" and not boot:
            skipped.append(Excluded(name, "is set at boot: becalm apply --boot applies it"))
        elif not knob.supported:
            skipped.append(Excluded(name, knob.reason or "not supported here"))
        elif knob.scope == "process" and not with_program:
            skipped.append(Excluded(name, "acts on one program: name it after --, or measure it with --profile"))
        else:
            values[name] = value
    return Settings.of(values), tuple(skipped)


def accepted(agent: Host, settings: Settings, dangerous: bool) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings that this machine accepts, and the excluded ones: it may have a knob but refuse the value."""
    try:
        agent.plan(settings, dangerous=dangerous)
    except RefusedError:
        left_out = []
        for name, value in settings.values:
            try:
                agent.plan(Settings.of({name: value}), dangerous=dangerous)
            except RefusedError as error:
                left_out.append(Excluded(name, str(error)))
        gone = {exclusion.knob for exclusion in left_out}
        return Settings.of({name: value for name, value in settings.values if name not in gone}), tuple(left_out)
    return settings, ()


def machine_remarks(profile: Profile, host: Host) -> tuple[str, ...]:
    """Return a remark when a profile states that it was made on another machine; nothing otherwise."""
    here = machine_of(host.facts()) if profile.machine else {}
    if all(profile.machine.get(key) in (None, value) for key, value in here.items()):
        return ()
    made_on, this_machine = describe_machine(profile.machine), describe_machine(here)
    return (
        f"{profile.name}: made on {made_on}: not this machine ({this_machine}). "
        "To see whether it helps here: becalm tune --try",
    )
