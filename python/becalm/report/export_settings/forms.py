"""The table of forms of files for production: the places each can hold, and those it holds when all are written.

A new form is a module of this folder and a row.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import msgspec

from becalm.errors import UsageError
from becalm.nouns.excluded import Excluded
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace, Where
from becalm.wording.export_settings import elsewhere

Writer = Callable[[Origin, Sequence[SettingPlace]], tuple[ProductionFile, ...]]


class Form(msgspec.Struct, frozen=True):
    """A form of file. `holds`: the kinds of places that it can set; `best_for`: those that it sets when every setting
    is written once."""

    name: str
    what: str
    holds: tuple[Where, ...]
    best_for: tuple[Where, ...] = ()

    def write(self, origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
        """Return the files for these places."""
        writer: Writer = importlib.import_module(f"becalm.report.export_settings.{self.name}").write
        return writer(origin, places)


_MACHINE = (Where.SYSCTL, Where.FILE, Where.DEBUG)

FORMS = (
    Form("sysctl", "what is below /proc/sys (sysctl.d)", (Where.SYSCTL,), (Where.SYSCTL,)),
    Form("tmpfiles", "what is below /sys (tmpfiles.d)", (Where.FILE,), (Where.FILE,)),
    Form(
        "systemd",
        "a service that applies settings and, stopped, restores them; a drop-in for the program's unit",
        (*_MACHINE, Where.FEATURE, Where.LATENCY, Where.PROGRAM),
        (Where.DEBUG, Where.FEATURE, Where.LATENCY, Where.PROGRAM),
    ),
    Form("tuned", "a profile of tuned", (*_MACHINE, Where.LATENCY, Where.BOOT)),
    Form("boot", "parameters of the kernel (GRUB)", (Where.BOOT,), (Where.BOOT,)),
    Form("script", "a shell script with on and off", (*_MACHINE, Where.FEATURE)),
)


def files(origin: Origin, places: Sequence[SettingPlace], form: str | None) -> tuple[ProductionFile, ...]:
    """Return the files of one form; without a form, files in which every setting is written once."""
    if form is None:
        groups = [
            row.write(origin, [place for place in places if place.where in row.best_for])
            for row in FORMS
            if row.best_for
        ]
        return tuple(file for group in groups for file in group)
    chosen = form_named(form)
    return chosen.write(origin, [place for place in places if place.where in chosen.holds])


def not_held(places: Sequence[SettingPlace], form: str | None) -> tuple[Excluded, ...]:
    """Return the settings that a form cannot hold."""
    if form is None:
        return ()
    holds = form_named(form).holds
    knobs = dict.fromkeys(place.knob for place in places if place.where not in holds)
    return tuple(Excluded(knob, elsewhere(form)) for knob in knobs)


def form_named(name: str) -> Form:
    """Return the row of a form. Raises UsageError for an unknown name."""
    for form in FORMS:
        if form.name == name:
            return form
    raise UsageError(f"There is no form {name!r} of files for production. Known: {', '.join(x.name for x in FORMS)}.")
