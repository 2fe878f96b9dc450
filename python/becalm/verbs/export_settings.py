"""`becalm export-settings`: the result of a search, or any profile, as files for production. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from becalm import hosts
from becalm.errors import MachineError, UsageError
from becalm.files.written import target, write
from becalm.hosts import Access, Host
from becalm.line import Line
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy
from becalm.profiles import Profile
from becalm.report.export_settings.forms import files, form_named, not_held
from becalm.results.export_settings import Origin, ProductionSettings
from becalm.results.tune import TuneVerdict, from_json
from becalm.results.tune_arms import AND
from becalm.store import Store
from becalm.study.export_settings import hostname_of, kernel_of, production_plan
from becalm.study.session_options import Values
from becalm.study.settings_in_force import machine_remarks
from becalm.study.settings_profile import OWN, merge_profiles
from becalm.units import join_names
from becalm.wording import export_settings as sentences
from becalm.wording import tune as tune_sentences
from becalm.wording.printable import one_line


def export_settings(
    *references: str,
    settings: Values | None = None,
    format: str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | None = None,
    store: str | None = None,
) -> ProductionSettings:
    """Return settings as files that a machine keeps without becalm, each with its reason, its gain, and how to undo it.

    Arguments:
        references: profiles: names, files, or numbers of studies, as `apply` takes them.
        settings: single settings, which override the profiles.
        format: a single form: sysctl, tmpfiles, systemd, tuned, boot, script; None: every setting once, in the form
            that suits it.
        host: the machine that is to have them, whose present values are recorded.
        sudo: look as root, which debugfs and some other files require.
        root: a directory that looks like `/`, to look at instead of the machine.
        store: where studies are kept.

    Raises UsageError for an unknown profile or form, MachineError, StoreError.
    """
    if format is not None:
        form_named(format)
    profile = merge_profiles(references, Settings.of(settings), store)
    if not profile.settings.values:
        raise UsageError("There are no settings in it. Name a profile or the number of a study, or give --set.")
    with hosts.open(host, Access(sudo=sudo, root=root)) as machine:
        plan = production_plan(machine, profile.settings)
        remarks = machine_remarks(profile, machine)
    origin = replace(_origin(references, profile, store), host=plan.host, kernel=plan.kernel)
    production_settings = ProductionSettings(
        origin=origin,
        settings=profile.settings.to_json(),
        files=files(origin, plan.places, format),
        left=(*plan.left, *not_held(plan.places, format)),
        remarks=remarks,
        helped=_helped(references, store),
    )
    return replace(production_settings, sentence=sentences.whole(production_settings))


def write_settings(settings: ProductionSettings, directory: str | Path) -> tuple[Path, ...]:
    """Write the files into a directory, to be reviewed and put in place. Raises MachineError."""
    paths = tuple(Path(directory) / file.name for file in settings.files)
    for path in paths:
        target(path)
    for path, file in zip(paths, settings.files, strict=True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, file.content)
        except OSError as error:
            raise MachineError(f"{path} cannot be written: {error.strerror}.") from error
    return paths


def _helped(references: Sequence[str], store: str | None) -> tuple[str, ...]:
    """Return the settings that a study showed to help, the most helpful first."""
    study = _study(references, store)
    if study is None:
        return ()
    ratios: dict[str, float] = {}
    for contribution in study[1].contributions:
        if contribution.ratio.low > 1:
            for knob in contribution.knob.split(AND):
                ratios[knob] = max(ratios.get(knob, 0.0), contribution.ratio.value)
    return tuple(sorted((knob for knob in ratios if knob in study[1].settings), key=lambda knob: -ratios[knob]))


def _study(references: Sequence[str], store: str | None) -> tuple[int, TuneVerdict, StoredStudy] | None:
    """Return the number and the verdict of the tune study that is the only reference; None for other profiles."""
    number = references[0].removeprefix("study:") if len(references) == 1 else ""
    if number != "last" and not number.isdigit():
        return None
    with Store.open(store) as opened:
        study_number = opened.studies(limit=1, kind="tune")[0].number if number == "last" else opened.resolve(number)
        return study_number, from_json(opened.verdict(study_number) or {}), opened.study(study_number)


def _origin(references: Sequence[str], profile: Profile, store: str | None) -> Origin:
    """Return the origin of the settings; for a study, with its results."""
    plain = Origin(_slug(profile.name), Line(f"profile {profile.name}") if profile.name != OWN else OWN)
    known = _study(references, store)
    if known is None:
        return plain
    number, verdict, study = known
    programs = join_names(verdict.programs)
    day = datetime.fromtimestamp(study.created_ns / 1e9, UTC)
    kernel = kernel_of(study.facts)
    return Origin(
        name=Line(f"becalm-{number}"),
        title=one_line(f"settings of study {number} for {programs}"),
        measured=tuple(one_line(comparison.sentence) for comparison in tune_sentences.headline(verdict)),
        found_on=one_line(f"{hostname_of(study.facts) or verdict.host}{f', kernel {kernel}' if kernel else ''}"),
        date=Line(f"{day:%Y-%m-%d}"),
    )


def _slug(name: str) -> Line:
    """Return a name for files, of letters, digits and dashes."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
    return Line(plain if plain.startswith("becalm") else f"becalm-{plain or 'settings'}")
