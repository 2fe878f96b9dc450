"""`becalm export-settings`: what a search found, or any profile, as files for production. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from becalm import hosts
from becalm.errors import BecalmError, MachineError, UsageError
from becalm.hosts import Access, Host
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.production import Origin, Place, ProductionSettings, Where
from becalm.nouns.settings import Settings
from becalm.nouns.tune_verdict import from_json
from becalm.profiles import Profile
from becalm.report.production.forms import files, form_named, not_held
from becalm.store import Store
from becalm.study.profile import OWN, together
from becalm.study.session_options import Values
from becalm.study.settings_in_force import made_elsewhere
from becalm.wording import production as sentences
from becalm.wording import tune as tune_sentences

DEBUGFS, SYSCTL, LATENCY = "/sys/kernel/debug/", "/proc/sys/", "/dev/cpu_dma_latency"


def export_settings(
    *references: str,
    settings: Values | None = None,
    format: str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | None = None,
    store: str | None = None,
) -> ProductionSettings:
    """Settings as files that a machine keeps without becalm, each with why, what it gained, and how to undo it.

    Arguments:
        references: profiles: names, files, or numbers of studies, as `apply` takes them.
        settings: single settings, which win over the profiles.
        format: one form alone: sysctl, tmpfiles, systemd, tuned, boot, script; None: every setting once, where it
            belongs.
        host: the machine that is to have them: values found before are its own.
        sudo: look as root, as debugfs and some other files ask for.
        root: a directory that looks like `/`, to look at instead of the machine.
        store: where studies are kept.

    Raises UsageError for what is no profile or form, MachineError, StoreError.
    """
    if format is not None:
        form_named(format)
    profile = together(references, Settings.of(settings), store)
    if not profile.settings.values:
        raise UsageError("There are no settings in it. Name a profile or the number of a study, or give --set.")
    with hosts.open(host, Access(sudo=sudo, root=root)) as machine:
        places, left = _places(machine, profile.settings)
        remarks = made_elsewhere(profile, machine)
        facts = machine.facts()
    origin = replace(_origin(references, profile, store), host=_hostname(facts), kernel=_kernel(facts))
    found = ProductionSettings(
        origin=origin,
        settings=profile.settings.to_json(),
        files=files(origin, places, format),
        left=(*left, *not_held(places, format)),
        remarks=remarks,
    )
    return replace(found, sentence=sentences.whole(found))


def write_settings(found: ProductionSettings, directory: str | Path) -> tuple[Path, ...]:
    """Write the files into a directory, to be looked at and put where they belong. Raises MachineError."""
    made = []
    for each in found.files:
        path = Path(directory) / each.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(each.content, encoding="utf-8")
        except OSError as error:
            raise MachineError(f"{path} cannot be written: {error.strerror}.") from error
        made.append(path)
    return tuple(made)


def _places(machine: Host, settings: Settings) -> tuple[list[Place], tuple[Excluded, ...]]:
    """What settings mean on a machine, in the order in which they are put on, and those that no file can hold."""
    rows = machine.knobs()
    places: list[Place] = []
    left: list[Excluded] = []
    live: dict[str, str | int | bool] = {}
    for name, value in settings.values:
        knob = find(rows, name)
        if not knob.supported:
            left.append(Excluded(name, knob.reason or "not supported here"))
        elif knob.scope == "process":
            found = list(_of_program(knob, str(value)))
            places += found
            left += [] if found else [Excluded(name, sentences.no_property(name))]
        elif knob.scope == "boot":
            found = list(_of_boot(machine, knob, value))
            places += found
            left += [] if found else [Excluded(name, f"what {value} is on this machine cannot be seen")]
        elif name in sentences.BY_HAND:
            left.append(Excluded(name, sentences.BY_HAND[name]))
        else:
            live[name] = value
    made, lacking = _live(machine, rows, Settings.of(live))
    return [*made, *places], (*left, *lacking)


def _live(machine: Host, rows: Sequence[Knob], settings: Settings) -> tuple[list[Place], list[Excluded]]:
    """What settings of the running machine write, with what was there before becalm."""
    if not settings.values:
        return [], []
    # What becalm itself has put on is not what was found before.
    ours = {each.place: each.original for each in machine.status().places}
    places, left = [], {}
    for change in machine.plan(settings, dangerous=True).changes:
        knob = find(rows, change.knob)
        if (where := _where(change.place)) is None:
            left[change.knob] = Excluded(change.knob, sentences.no_file(change.knob, change.place))
            continue
        before = ours.get(change.place, change.before)
        if where is Where.LATENCY:
            before = None
        places.append(Place(knob.name, where, change.place, change.after, before, knob.rationale, knob.costs))
    return [each for each in places if each.knob not in left], list(left.values())


def _where(place: str) -> Where | None:
    """What kind of file a place is; None for what is no file, and for what has another name after the next start."""
    if place == LATENCY:
        return Where.LATENCY
    for prefix, where in ((SYSCTL, Where.SYSCTL), (DEBUGFS, Where.DEBUG), ("/sys/fs/cgroup/", None)):
        if place.startswith(prefix):
            return where
    return Where.FILE if place.startswith("/sys/") else None


def _of_boot(machine: Host, knob: Knob, value: str | int | bool) -> Iterator[Place]:
    """Parameters of the kernel, as this machine spells them."""
    with suppress(BecalmError):
        for each in machine.boot_entry().effects(Settings.of({knob.name: value}), dangerous=True):
            words = " ".join(each["parameters"])
            yield Place(knob.name, Where.BOOT, words, words, None, knob.rationale, knob.costs)


def _of_program(knob: Knob, value: str) -> Iterator[Place]:
    """Properties of a unit (systemd.exec(5)); none for what systemd does not have."""
    kind, _, level = value.partition(":")
    pairs: list[tuple[str, str]] = {
        "nice": [("Nice", value)],
        "cpus": [("CPUAffinity", value)],
        "io_priority": [("IOSchedulingClass", kind), *([("IOSchedulingPriority", level)] if level else [])],
        "policy": [("CPUSchedulingPolicy", kind), *([("CPUSchedulingPriority", level)] if level else [])],
        "cpu_weight": [("CPUWeight", value)],
    }.get(knob.name, [])
    for name, text in pairs:
        yield Place(knob.name, Where.PROGRAM, name, text, None, knob.rationale, knob.costs)


def _origin(references: Sequence[str], profile: Profile, store: str | None) -> Origin:
    """Where the settings come from; of a study with what it showed."""
    plain = Origin(_slug(profile.name), f"profile {profile.name}" if profile.name != OWN else OWN)
    if len(references) != 1:
        return plain
    number = references[0].removeprefix("study:")
    if number != "last" and not number.isdigit():
        return plain
    with Store.open(store) as opened:
        found = opened.studies(limit=1, kind="tune")[0].number if number == "last" else opened.resolve(number)
        verdict, study = opened.verdict(found), opened.study(found)
    shown = from_json(verdict or {})
    programs = " and ".join(shown.programs)
    day = datetime.fromtimestamp(study.created_ns / 1e9, UTC)
    kernel = _kernel(study.facts)
    return Origin(
        name=f"becalm-{found}",
        title=f"settings of study {found} for {programs}",
        measured=tuple(each.sentence for each in tune_sentences.headline(shown)),
        found_on=f"{_hostname(study.facts) or shown.host}{f', kernel {kernel}' if kernel else ''}",
        date=f"{day:%Y-%m-%d}",
    )


def _slug(name: str) -> str:
    """A name for files: letters, digits and dashes."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
    return plain if plain.startswith("becalm") else f"becalm-{plain or 'settings'}"


def _hostname(facts: Mapping[str, Any]) -> str:
    return str((facts.get("host") or {}).get("hostname") or "")


def _kernel(facts: Mapping[str, Any]) -> str:
    return str((facts.get("kernel") or {}).get("release") or "")
