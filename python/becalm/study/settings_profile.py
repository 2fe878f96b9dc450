"""Profiles by reference: a name, a file, the study that recommends it, or single settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.line import Line
from becalm.nouns.settings import Settings
from becalm.profiles import Profile, load
from becalm.units import join_names
from becalm.wording.printable import one_line

OWN = Line("single settings")
"""The title of settings without a profile."""


def find_profile(
    reference: str | None, more: Mapping[str, str | int | bool] | None = None, store: str | None = None
) -> Profile:
    """Return the profile of a reference, with the `more` settings in place of its own.

    `reference`: a name, a file, the number of a study ("12", "study:12", "last"), or None for `more` alone. Raises
    UsageError when there is no such profile.
    """
    if reference is None:
        return Profile(OWN, Settings.of(more or {}))
    number = reference.removeprefix("study:")
    profile = _recommended_profile(number, store) if number == "last" or number.isdigit() else load(reference)
    if not more:
        return profile
    return replace(profile, settings=Settings.of({**profile.settings.to_json(), **more}))


def merge_profiles(references: Sequence[str], more: Settings | None = None, store: str | None = None) -> Profile:
    """Return several profiles merged into one, with the `more` settings in place of theirs.

    Raises UsageError where two profiles contradict each other.
    """
    own = {} if more is None else more.to_json()
    profiles = [find_profile(reference, store=store) for reference in references]
    if len(profiles) < 2:
        return find_profile(references[0] if references else None, own, store)
    values: dict[str, tuple[str | int | bool, str]] = {}
    for profile in profiles:
        for name, value in profile.settings.values:
            if name not in own and str(values.get(name, (value,))[0]) != str(value):
                other, owner = values[name]
                raise UsageError(
                    f"{owner} sets {name}={other} and {profile.name} sets {name}={value}. Choose one: --set {name}=…"
                )
            values[name] = (value, profile.name)
    chosen = {name: value for name, (value, _) in values.items()} | own
    machine = next((profile.machine for profile in profiles if profile.machine), {})
    return Profile(Line(join_names(profile.name for profile in profiles)), Settings.of(chosen), machine=machine)


def _recommended_profile(reference: str, store: str | None) -> Profile:
    """Return the profile that a tune study recommends."""
    from becalm.store import Store  # It is heavy, and most profiles are files.

    with Store.open(store) as opened:
        studies = opened.studies(limit=1, kind="tune") if reference == "last" else ()
        number = studies[0].number if studies else opened.resolve(reference)
        verdict, study = opened.verdict(number), opened.study(number)
    if study.study.kind != "tune" or verdict is None:
        raise UsageError(f"Study {number} is not a finished tune study. `becalm list --kind tune` lists those.")
    if not verdict["settings"]:
        raise UsageError(f"Study {number} recommends no settings: nothing was shown to help. See: becalm show {number}")
    name = study.study.title or f"study-{number}"
    programs = ", ".join(workload.name for workload in study.study.workloads if not workload.kernel)
    return Profile(
        one_line(name),
        Settings.of(verdict["settings"]),
        one_line(f"found by becalm tune, study {number}, for: {programs}"),
        machine_of(study.facts),
    )


def machine_of(facts: Mapping[str, Any]) -> dict[str, Line]:
    """Return the identity of a machine for a profile: hostname and cpu, as far as the facts have them."""
    identity = {"hostname": (facts.get("host") or {}).get("hostname"), "cpu": (facts.get("cpu") or {}).get("model")}
    return {key: one_line(str(value)) for key, value in identity.items() if value}


def describe_machine(machine: Mapping[str, str]) -> str:
    """Return a machine in words: its name and its processor."""
    cpu = f" ({machine['cpu']})" if machine.get("cpu") else ""
    return f"{machine.get('hostname', 'another machine')}{cpu}"
