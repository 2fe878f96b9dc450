"""The profile that a person means: by name, by file, by the study that found it, or of single settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.nouns import Settings
from becalm.profiles import Profile, load
from becalm.store import Store

OWN = "single settings"
"""Title of settings without a profile."""


def named(
    reference: str | None, more: Mapping[str, str | int | bool] | None = None, store: str | None = None
) -> Profile:
    """A profile: a name, a file, or the number of a study ("12", "study:12", "last"); `more` settings override it.

    Raises UsageError when there is none.
    """
    if reference is None:
        return Profile(OWN, Settings.of(more or {}))
    number = reference.removeprefix("study:")
    found = _of_study(number, store) if number == "last" or number.isdigit() else load(reference)
    if not more:
        return found
    return replace(found, settings=Settings.of({**found.settings.to_json(), **more}))


def _of_study(reference: str, store: str | None) -> Profile:
    """What a tune study recommends."""
    with Store.open(store) as opened:
        studies = opened.studies(limit=1, kind="tune") if reference == "last" else ()
        number = studies[0].number if studies else opened.resolve(reference)
        verdict, study = opened.verdict(number), opened.study(number)
    if study.study.kind != "tune" or verdict is None:
        raise UsageError(
            f"Study {number} is no finished tune, so it recommends no settings. `becalm list --kind tune` shows those."
        )
    name = study.study.title or f"study-{number}"
    programs = ", ".join(each.name for each in study.study.workloads)
    return Profile(
        name,
        Settings.of(verdict["settings"]),
        f"found by becalm tune, study {number}, for: {programs}",
        machine(study.facts),
    )


def machine(facts: Mapping[str, Any]) -> dict[str, str]:
    """What identifies a machine in a profile: hostname, cpu."""
    found = {"hostname": (facts.get("host") or {}).get("hostname"), "cpu": (facts.get("cpu") or {}).get("model")}
    return {key: str(value) for key, value in found.items() if value}


def described(machine: Mapping[str, str]) -> str:
    """A machine in words: its name and its processor."""
    cpu = f" ({machine['cpu']})" if machine.get("cpu") else ""
    return f"{machine.get('hostname', 'another machine')}{cpu}"
