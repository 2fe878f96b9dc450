"""The factors of a search: which knobs it varies, and over which values.

What a person gives (`slice_ns=0.1..100ms:log`) is read in the knob's own unit and held against its domain; without any,
every knob that the host allows and that has a range or choices is one. Pure: rows in, values out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from becalm.errors import UsageError
from becalm.nouns.domain import Domain, Range, Scale
from becalm.nouns.excluded import Excluded
from becalm.nouns.factor import MARKS, Factor
from becalm.nouns.knob import Knob, find
from becalm.tuning.candidates import NEEDS_ROOT, SearchLimits, excluded_by_limits
from becalm.units import UNITS_NS

MEASURING = ("aslr", "aslr_system", "environment_size", "drop_caches")
"""Knobs that say under which circumstances a program is measured, not how it is best run: varied only when named."""

NAMED = (
    "sched_feature_", "numa_scan_", "sched_rt_", "sched_rr_", "sched_cfs_bandwidth_", "sched_idle_", "cpu_weight",
)  # fmt: skip
"""The beginnings of knobs that act only together with what most machines do not have (quotas, several nodes, realtime
or competing programs), or that are many and small: varied only when named."""

SIZES = {"bytes": 1, "B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
FREQUENCIES = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
TIMES = {unit: size for unit, size in UNITS_NS.items() if unit}
KINDS: tuple[Mapping[str, int], ...] = (TIMES, SIZES, FREQUENCIES)
"""Units that are turned into one another."""


def factors(
    knobs: Sequence[Knob],
    wanted: SearchLimits,
    asked: Sequence[str] = (),
    refused: Mapping[str, str] | None = None,
) -> tuple[tuple[Factor, ...], tuple[Excluded, ...]]:
    """Return the factors of a search, in the order asked for or else that of the catalogue, and the excluded ones with
    reasons.

    `refused`: knobs of which the machine did not take an end, and what it said. Raises UsageError for what was asked
    and cannot be.
    """
    refused = refused or {}
    if asked:
        named = [_named(knobs, text) for text in asked]
        names = [each.name for each in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"--factor {twice[0]} is there twice. Name each once.")
        for each in named:
            knob = find(knobs, each.name)
            # What an ordinary user may set is no danger: policy=other,batch is none, policy=fifo:50 is.
            mild = not any(knob.needs_rights(value) for value in ends(each))
            if reason := excluded_by_limits(knob, replace(wanted, consent=wanted.consent or mild)):
                raise UsageError(f"--factor {each.name}: {reason.removesuffix('.')}.")
            if reason := refused.get(each.name):
                raise UsageError(f"--factor {each.name}: {reason.removesuffix('.')}.")
        return tuple(_within_rights(find(knobs, each.name), each, wanted, told=True) for each in named), ()
    found: list[Factor] = []
    left_out: list[Excluded] = []
    for knob in knobs:
        reason = excluded_by_limits(knob, wanted) or _unsuited(knob) or refused.get(knob.name)
        if reason is None:
            try:
                found.append(_within_rights(knob, Factor.of_domain(knob.name, knob.domain), wanted))
                continue
            except UsageError:
                reason = NEEDS_ROOT
        left_out.append(Excluded(knob.name, reason))
    return tuple(found), tuple(left_out)


def ends(factor: Factor) -> tuple[str | int, ...]:
    """Return the values that a machine must take for it: every choice, or the two ends of the range."""
    return factor.choices if factor.categorical else (round(factor.low), round(factor.high))


def _unsuited(knob: Knob) -> str | None:
    """Return the reason why a knob is a factor only when it is named; None without one."""
    if knob.name in MEASURING:
        return f"it is about measuring, not about running: --factor {knob.name} varies it all the same"
    if knob.name.startswith(NAMED):
        return f"it is of little effect on most machines: --factor {knob.name} varies it all the same"
    if knob.scope == "boot":
        return f"each value costs a boot: --factor {knob.name} varies it all the same"
    domain = knob.domain
    if domain.range is None and len(domain.choices) < 2:
        return "it has neither a range nor choices of its own: --factor names the values to try"
    return None


def _within_rights(knob: Knob, factor: Factor, wanted: SearchLimits, *, told: bool = False) -> Factor:
    """Return a factor without the values that an ordinary user may not set. Raises UsageError where too few are
    left."""
    if wanted.privileged or not any(knob.needs_rights(end) for end in ends(factor)):
        return factor
    least = knob.privileged.get("below") if isinstance(knob.privileged, Mapping) else None
    if not told and not factor.categorical and least is not None and least < factor.high:
        return replace(factor, low=float(least))
    beyond = next(end for end in ends(factor) if knob.needs_rights(end))
    raise UsageError(f"--factor {knob.name}: {beyond} {NEEDS_ROOT}.")


def _named(knobs: Sequence[Knob], text: str) -> Factor:
    """Return a factor as a person gave it: KNOB, KNOB:log, KNOB=RANGE or KNOB=CHOICES. Raises UsageError."""
    head, equals, rest = text.partition("=")
    name, *marks = (part.strip() for part in head.split(":"))
    knob = find(knobs, name)
    if not equals:
        return _own(knob, marks)
    if ".." not in rest:
        choices = tuple(part.strip() for part in rest.split(","))
        if len(choices) < 2 and knob.domain.range is not None:
            raise UsageError(
                f"--factor {name}={rest.strip()} has no range. Write two numbers with .. between them, within what it "
                f"takes, {knob.domain.words}; or --factor {name} alone for all of that."
            )
        factor = Factor(name, choices=choices)
        if wrong := [choice for choice in choices if not knob.domain.holds(choice)]:
            raise UsageError(f"{name} cannot be {wrong[0]!r}: it takes {knob.domain.words}.")
        return factor
    factor = Factor.parse(text)
    limits = knob.domain.range
    if limits is None:
        raise UsageError(f"{name} has no range: it takes {knob.domain.words}. Name choices: {_example(knob)}.")
    by = _times(factor, limits)
    low, high = factor.low * by, factor.high * by
    if low < limits.low or high > limits.high:
        raise UsageError(
            f"--factor {name}: {factor.spelled.partition('=')[2]} reaches beyond what it takes, {knob.domain.words}."
        )
    whole = math.ceil(low - 1e-6), math.floor(high + 1e-6)
    if whole[0] >= whole[1]:
        raise UsageError(f"--factor {name}: there are no two whole numbers from {low:g} to {high:g}.")
    said = [word for word in rest.split(":")[1:] if word.strip() in ("log", "linear")]
    scale = factor.scale if said else limits.scale
    return Factor(name, float(whole[0]), float(whole[1]), limits.unit, scale, True)


def _own(knob: Knob, marks: Sequence[str]) -> Factor:
    """Return a knob with all of its domain. Raises UsageError where that has neither range nor choices."""
    if unknown := [mark for mark in marks if mark not in MARKS]:
        raise UsageError(f"{knob.name}: there may be :log and :linear behind it, not :{unknown[0]}.")
    try:
        factor = Factor.of_domain(knob.name, knob.domain)
    except UsageError:
        raise UsageError(
            f"--factor {knob.name} has no range: it takes {knob.domain.words}. Name what to try: {_example(knob)}."
        ) from None
    if not marks or factor.categorical:
        return factor
    return replace(factor, scale=Scale.LOG if "log" in marks else Scale.LINEAR)


def _times(factor: Factor, limits: Range) -> float:
    """Return the size of the given unit in the knob's. Raises UsageError for a unit that it does not have."""
    if factor.unit in ("", limits.unit):
        return 1.0
    for kind in KINDS:
        if factor.unit in kind and limits.unit in kind:
            return kind[factor.unit] / kind[limits.unit]
    has = f"its unit is {limits.unit}" if limits.unit else "it has no unit"
    raise UsageError(f"--factor {factor.name}: {factor.unit!r} is no unit of it; {has}.")


def _example(knob: Knob) -> str:
    domain: Domain = knob.domain
    some = domain.categories[:2]
    return f"--factor {knob.name}={','.join(some if len(some) == 2 else ('ONE', 'OTHER'))}"
