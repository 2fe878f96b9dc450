"""The settings in force while programs run: a profile as far as the machine has it, and those applied before.

A profile that stays on until `becalm reset` is on for what becalm starts, too: its settings are not put on again, and
a verdict names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from becalm.errors import RefusedError
from becalm.hosts import Ability, Host
from becalm.nouns.codec import Json
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.profiles import Profile
from becalm.study.session_options import SessionOptions
from becalm.study.settings_profile import described, machine_of
from becalm.wording import study_findings

NEEDS_ROOT = "isolation"
"""Only root puts programs on the CPUs that this keeps free."""


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

    A profile is taken as far as the machine has it; settings of the study's own win over it. `warned`,
    or else the session's listener, gets what was left out and what these programs lack of the applied settings.
    Raises UsageError, MachineError.
    """
    warned = warned or session.listener.warned
    kept = Settings.of(host.facts().get("kept"))
    if not kept.values and session.profile is None:
        return study, kept
    chosen = Settings() if session.profile is None else _of_profile(host, session.profile, session.dangerous, warned)
    _beside(host, kept, warned)
    settings = [_rest({**chosen.to_json(), **setting.to_json()}, kept) for setting in study.settings]
    return replace(study, settings=tuple(settings)), kept


def not_on_yet(host: Host, settings: Settings, warned: Callable[[str], object]) -> Settings:
    """Return those settings for a program that are not applied until `reset`; tells the person what it does not get."""
    kept = Settings.of(host.facts().get("kept"))
    _beside(host, kept, warned)
    return _rest(settings.to_json(), kept)


def _beside(host: Host, settings: Settings, warned: Callable[[str], object]) -> None:
    if settings.to_json().get(NEEDS_ROOT) and not host.abilities()[Ability.MACHINE_SETTINGS]:
        warned(study_findings.beside(NEEDS_ROOT))


def _rest(wanted: Mapping[str, Json], settings: Settings) -> Settings:
    on = settings.to_json()
    return Settings.of({name: value for name, value in wanted.items() if str(on.get(name)) != str(value)})


def _of_profile(host: Host, profile: Profile, dangerous: bool, warned: Callable[[str], object]) -> Settings:
    can = host.abilities()
    settings, skipped = usable(profile, host.knobs(), with_program=True, boot=bool(can.get(Ability.REBOOT)))
    settings, lacking = taken(host, settings, dangerous) if can.get(Ability.HOLD) else (settings, ())
    for each in (*skipped, *lacking):
        warned(f"Left out of {profile.name}: {each.knob}: {each.reason}.")
    for sentence in made_elsewhere(profile, host):
        warned(sentence)
    return settings


def usable(
    profile: Profile, rows: Sequence[Knob], *, with_program: bool, boot: bool = False
) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings of a profile that can be set here now, and the excluded ones with reasons.

    `with_program`: for a program that becalm starts; else for the machine alone. `boot`: on a host that may be started
    again.
    """
    values, skipped = {}, []
    for name, value in profile.settings.values:
        knob = find(rows, name)
        if knob.scope == "boot" and not boot:
            skipped.append(Excluded(name, "is set at boot: becalm apply --boot puts it on"))
        elif not knob.supported:
            skipped.append(Excluded(name, knob.reason or "not supported here"))
        elif knob.scope == "process" and not with_program:
            skipped.append(Excluded(name, "acts on one program: name it after --, or measure it with --profile"))
        else:
            values[name] = value
    return Settings.of(values), tuple(skipped)


def taken(agent: Host, settings: Settings, dangerous: bool) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings of a profile that this machine takes: it may have a knob, but refuse that value."""
    try:
        agent.plan(settings, dangerous=dangerous)
    except RefusedError:
        left_out = []
        for name, value in settings.values:
            try:
                agent.plan(Settings.of({name: value}), dangerous=dangerous)
            except RefusedError as error:
                left_out.append(Excluded(name, str(error)))
        gone = {each.knob for each in left_out}
        return Settings.of({name: value for name, value in settings.values if name not in gone}), tuple(left_out)
    return settings, ()


def made_elsewhere(profile: Profile, host: Host) -> tuple[str, ...]:
    """Return a remark when a profile states that it was found on another machine."""
    here = machine_of(host.facts()) if profile.machine else {}
    if all(profile.machine.get(key) in (None, value) for key, value in here.items()):
        return ()
    return (
        f"{profile.name}: made on {described(profile.machine)}: not this machine ({described(here)}). Whether it helps "
        "here: becalm tune --try",
    )
