"""The candidates of a search: the knobs of a host that the limits of the person allow.

`candidates` sorts the knobs of the host's catalogue into candidates and excluded ones, each with the reason. Pure
functions of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

NEEDS_ROOT = "needs root: --sudo"
"""The reason for leaving out a value that an ordinary user may not set."""


AT_BOOT = "set at boot: this host does not reboot during a study"
"""The reason for leaving out a setting of the next boot, when the host has no other reason."""


class SearchLimits(msgspec.Struct, frozen=True):
    """The limits of a search.

    - `only`: the knobs to search (empty: all); `without`: the knobs to leave out.
    - `consent`: whether dangerous knobs are allowed.
    - `preserve_multicore`: leave out everything that keeps a program on fewer CPUs.
    - `privileged`: whether the host may change the machine.
    - `reboots`: whether the host may set boot parameters; `stays`: the reason if it may not.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    consent: bool = False
    preserve_multicore: bool = False
    privileged: bool = False
    reboots: bool = False
    stays: str = AT_BOOT


def candidates(
    knobs: Sequence[Knob],
    wanted: SearchLimits,
    profiles: Iterable[tuple[str, Settings]] = (),
    refused: Mapping[str, str] | None = None,
    boot: Iterable[str] = (),
) -> tuple[Space, tuple[Excluded, ...]]:
    """Return the candidates of a search, and the excluded knobs with reasons, both in the catalogue's order.

    `refused`: reasons of the machine for refusing values, by knob. `boot`: the knobs that cost a boot. Raises
    UsageError if `only` or `without` name a knob that does not exist.
    """
    for name in (*wanted.only, *wanted.without):
        find(knobs, name)
    candidates, reasons = [], {}
    # A requirement that is set already need not be chosen.
    on = {knob.name for knob in knobs if knob.value is not None and knob.value == knob.tuned_value}
    for knob in knobs:
        if knob.tuned_value is None:
            continue
        reason = _excluded(knob, wanted) or (refused or {}).get(knob.name)
        if reason is None:
            requires = tuple(name for name in knob.requires if name not in on)
            group, value = Group(knob.group), knob.domain.parse(knob.tuned_value)
            candidates.append(Candidate(knob.name, value, group, requires, knob.restricts_cpus, knob.conflicts))
        else:
            reasons[knob.name] = reason
    while alone := [
        candidate for candidate in candidates if not {other.knob for other in candidates}.issuperset(candidate.requires)
    ]:
        present = {candidate.knob for candidate in candidates}
        for dependent in alone:
            missing = (name for name in dependent.requires if name not in present)
            reasons[dependent.knob] = f"it has no effect without {', '.join(missing)}"
        candidates = [candidate for candidate in candidates if candidate not in alone]
    excluded = tuple(Excluded(knob.name, reasons[knob.name]) for knob in knobs if knob.name in reasons)
    return Space(tuple(candidates), tuple(profiles), tuple(boot)), excluded


def left_out_by_choice(knob: Knob, wanted: SearchLimits) -> str | None:
    """Return the reason why the person's limits leave a knob out; None if they do not."""
    if wanted.only and knob.name not in wanted.only:
        return "not among the requested settings"
    if knob.name in wanted.without:
        return "left out on request"
    if knob.restricts_cpus and wanted.preserve_multicore:
        return "keeps the program on fewer CPUs (--preserve-multicore)"
    return None


def excluded_by_limits(knob: Knob, wanted: SearchLimits, value: str | None = None) -> str | None:
    """Return the reason why a knob is not varied, or not set to a value; None if it is."""
    if unwanted := left_out_by_choice(knob, wanted):
        return unwanted
    if knob.scope == "boot" and not wanted.reboots:
        return wanted.stays
    if not knob.supported:
        return knob.reason or "not supported here"
    if not wanted.privileged and (knob.privileged == "all" if value is None else knob.needs_rights(value)):
        return NEEDS_ROOT
    if Group(knob.group) is Group.DANGEROUS and not wanted.consent:
        return "needs your consent: --dangerous"
    return None


def _excluded(knob: Knob, wanted: SearchLimits) -> str | None:
    """Return the reason why a knob is not tried; None if it is."""
    if reason := excluded_by_limits(knob, wanted, knob.tuned_value):
        return reason
    if knob.value is not None and knob.value == knob.tuned_value:
        return f"is {knob.value} already"
    return None
