"""Sentences of settings exported for production: the comments in their files, and advice where there is no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from becalm.results.export_settings import Origin, ProductionSettings, SettingPlace
from becalm.units import join_names
from becalm.wording.numbers import counted
from becalm.wording.printable import one_line

BY_HAND: Mapping[str, str] = {
    "isolation": "no file does all of it: AllowedCPUs= of the program's unit, and the other CPUs as AllowedCPUs= of "
    "system.slice, user.slice and init.scope; or the setting isolcpus, which holds from every boot on",
    "swap": "mask the swap unit (systemctl mask NAME.swap), or take its line out of /etc/fstab",
    "services": "disable those that rewrite settings: systemctl disable --now NAME",
    "irq_affinity": "numbers of interrupts change from boot to boot: give irqaffinity=CPUS to the kernel at boot, or "
    "set IRQBALANCE_BANNED_CPULIST where irqbalance runs",
    "aslr": "systemd has no property for it: begin the command of the unit with setarch --addr-no-randomize",
    "slice_ns": "systemd has no property for it: begin the command of the unit with chrt --other --sched-runtime NS 0 "
    "(util-linux 2.41 and later), or with becalm apply PROFILE --",
    "environment_size": "it is for measuring: in production it does nothing for you",
    "drop_caches": "it is for measuring: in production every start would read its files from disk",
}
"""Settings that no file can hold, with what to do instead."""


def no_property(knob: str) -> str:
    """Return the advice on a setting of a program for which systemd has no property."""
    return BY_HAND.get(knob, "systemd has no property for it: start the program with becalm apply PROFILE --")


def no_file(knob: str, place: str) -> str:
    """Return the advice on a place that is not a file of the kernel."""
    return BY_HAND.get(knob, f"it is not a file that can be written at boot: {place}")


def no_line(place: str, why: str) -> str:
    """Return the reason why a place whose value is not a line of text is in no file."""
    return f"what {one_line(place)} holds or gets {why}, which no file can have"


def elsewhere(form: str) -> str:
    """Return the reason why a setting is not in a file of this form."""
    return f"not in a file of the form {form}; leave --format out for all of them"


def whole(settings: ProductionSettings) -> str:
    """Return the sentences about the files that were written."""
    files, left = counted(len(settings.files), "file"), len(settings.left)
    title = f"{settings.origin.title[:1].upper()}{settings.origin.title[1:]}"
    if not settings.files:
        return f"{title}: no file holds any of these settings."
    if not left:
        return f"{title}, for production: {files}. Nothing was changed on this machine."
    names = [setting.knob for setting in settings.left]
    if settings.missing:
        # The first line must already state that the files do not have the measured effect.
        most = "helped most" if settings.missing[0] == settings.helped[0] else "helped"
        rest = [name for name in names if name not in settings.missing]
        others = f", nor {'is' if len(rest) == 1 else 'are'} {join_names(rest)}" if rest else ""
        return (
            f"{join_names(list(settings.missing))}, which {most}, "
            f"{'is' if len(settings.missing) == 1 else 'are'} in no file"
            f"{others}: what to do instead is below. {title}, for production: {files} for the rest. Nothing was "
            "changed on this machine."
        )
    return (
        f"{join_names(names)} {'is' if left == 1 else 'are'} in no file: what to do instead is below. {title}, for "
        f"production: {files} for the rest. Nothing was changed on this machine."
    )


def head(origin: Origin, notes: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines of every file: title, measurement, origin, and the notes."""
    where = f", kernel {origin.kernel}" if origin.kernel else ""
    lines = [f"becalm: {origin.title}"]
    if origin.measured:
        lines += [f"Measured{f' on {origin.found_on}' if origin.found_on else ''}"
                  f"{f', {origin.date}' if origin.date else ''}:"]  # fmt: skip
        lines += [f"  {line}" for line in origin.measured]
    else:
        lines.append("Its gain was not measured here: becalm tune --try measures it.")
    lines.append(f"Values found before are those of {origin.host}{where}.")
    return (*lines, *notes)


def about(place: SettingPlace) -> str:
    """Return the comment above the line of a setting."""
    before = "" if place.before is None else f"; {place.before} before"
    costs = f" Costs: {place.costs}." if place.costs else ""
    return f"{place.knob}: {place.why}{before}.{costs}"


def program_unit(knobs: Sequence[str]) -> str:
    """Return the error about an unnamed systemd unit."""
    return (
        f"PROGRAM is the unit of the measured program: {join_names(list(knobs))} "
        f"{'acts' if len(knobs) == 1 else 'act'} only on it."
    )
