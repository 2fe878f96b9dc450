"""The factors of a search: the knobs that it varies, and their values.

A typed factor (`slice_ns=0.1..100ms:log`) is converted to the knob's own unit and checked against its domain. Without
typed factors, every allowed knob of the host with a range or choices is a factor. Pure functions of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.domain import Domain, Range, Scale
from becalm.nouns.excluded import Excluded
from becalm.nouns.factor import MARKS, Factor
from becalm.nouns.knob import Knob, find
from becalm.tuning.candidates import NEEDS_ROOT, SearchLimits, excluded_by_limits
from becalm.units import UNITS_NS

MEASURING = ("aslr", "aslr_system", "environment_size", "drop_caches")
"""The knobs for the circumstances of measuring, instead of running; they are varied only when named."""

NAMED = (
    "sched_feature_", "numa_scan_", "sched_rt_", "sched_rr_", "sched_cfs_bandwidth_", "sched_idle_", "cpu_weight",
)  # fmt: skip
"""The prefixes of knobs that only act together with things that most machines lack (quotas, several nodes, realtime or
competing programs), or that are many with little effect; they are varied only when named."""

SIZES = {"bytes": 1, "B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
FREQUENCIES = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
TIMES = {unit: size for unit, size in UNITS_NS.items() if unit}
KINDS: tuple[Mapping[str, int], ...] = (TIMES, SIZES, FREQUENCIES)
"""The kinds of units that can be converted into one another."""


def factors(
    knobs: Sequence[Knob],
    wanted: SearchLimits,
    requested: Sequence[str] = (),
    refused: Mapping[str, str] | None = None,
) -> tuple[tuple[Factor, ...], tuple[Excluded, ...]]:
    """Return the factors of a search, and the excluded knobs with reasons.

    `requested`: the typed factors, whose order is kept; otherwise the order is that of the catalogue. `refused`:
    reasons of the machine for refusing an end of a range, by knob. Raises UsageError for an impossible requested
    factor.
    """
    refused = refused or {}
    if requested:
        named = [_parse_factor(knobs, text) for text in requested]
        names = [factor.name for factor in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"--factor {twice[0]} is given twice. Name each factor once.")
        for factor in named:
            knob = find(knobs, factor.name)
            # Values that an ordinary user may set need no consent: policy=other,batch, but not policy=fifo:50.
            mild = not any(knob.needs_rights(value) for value in ends(factor))
            if reason := excluded_by_limits(knob, replace(wanted, consent=wanted.consent or mild)):
                raise UsageError(f"--factor {factor.name}: {reason.removesuffix('.')}.")
            if reason := refused.get(factor.name):
                raise UsageError(f"--factor {factor.name}: {reason.removesuffix('.')}.")
        return tuple(_within_rights(find(knobs, factor.name), factor, wanted, named=True) for factor in named), ()
    chosen: list[Factor] = []
    left_out: list[Excluded] = []
    for knob in knobs:
        reason = excluded_by_limits(knob, wanted) or _unsuited(knob) or refused.get(knob.name)
        if reason is None:
            try:
                chosen.append(_within_rights(knob, Factor.of_domain(knob.name, knob.domain), wanted))
                continue
            except UsageError:
                reason = NEEDS_ROOT
        left_out.append(Excluded(knob.name, reason))
    return tuple(chosen), tuple(left_out)


def ends(factor: Factor) -> tuple[str | int, ...]:
    """Return the values of a factor that a machine must accept: every choice, or the two ends of the range."""
    return factor.choices if factor.categorical else (round(factor.low), round(factor.high))


def _unsuited(knob: Knob) -> str | None:
    """Return the reason why a knob is a factor only when named; None if there is none."""
    if knob.name in MEASURING:
        return "it affects the measurement, not the program: --factor NAME varies it nevertheless"
    if knob.name.startswith(NAMED):
        return "it has little effect on most machines: --factor NAME varies it nevertheless"
    if knob.scope == "boot":
        return "each value costs a boot: --factor NAME varies it nevertheless"
    domain = knob.domain
    if domain.range is None and len(domain.choices) < 2:
        return "it has neither a range nor choices: --factor names the values to try"
    return None


def _within_rights(knob: Knob, factor: Factor, wanted: SearchLimits, *, named: bool = False) -> Factor:
    """Return a factor without the values that an ordinary user may not set. Raises UsageError if too few are left."""
    if wanted.privileged or not any(knob.needs_rights(end) for end in ends(factor)):
        return factor
    least = knob.privileged.get("below") if isinstance(knob.privileged, Mapping) else None
    if not named and not factor.categorical and least is not None and least < factor.high:
        return replace(factor, low=float(least))
    beyond = next(end for end in ends(factor) if knob.needs_rights(end))
    raise UsageError(f"--factor {knob.name}: {beyond} {NEEDS_ROOT}.")


def _parse_factor(knobs: Sequence[Knob], text: str) -> Factor:
    """Return the factor of a text: KNOB, KNOB:log, KNOB=RANGE or KNOB=CHOICES. Raises UsageError."""
    head, equals, rest = text.partition("=")
    name, *marks = (part.strip() for part in head.split(":"))
    knob = find(knobs, name)
    if not equals:
        return _whole_domain(knob, marks)
    if ".." not in rest:
        choices = tuple(part.strip() for part in rest.split(","))
        if len(choices) < 2 and knob.domain.range is not None:
            raise UsageError(
                f"--factor {name}={rest.strip()} has no range. {name} takes {knob.domain.words}: write two numbers "
                f"from that with .. between them, or only --factor {name} for all of it."
            )
        factor = Factor(name, choices=choices)
        if wrong := [choice for choice in choices if not knob.domain.holds(choice)]:
            raise UsageError(f"{name} cannot be {wrong[0]!r}: it takes {knob.domain.words}.")
        return factor
    factor = Factor.parse(text)
    limits = knob.domain.range
    if limits is None:
        raise UsageError(f"{name} has no range: it takes {knob.domain.words}. Name choices: {_example(knob)}.")
    by = _unit_ratio(factor, limits)
    low, high = factor.low * by, factor.high * by
    if low < limits.low or high > limits.high:
        raise UsageError(
            f"--factor {name}: {factor.spelled.partition('=')[2]} is not within the range of {name}, which takes "
            f"{knob.domain.words}."
        )
    whole = math.ceil(low - 1e-6), math.floor(high + 1e-6)
    if whole[0] >= whole[1]:
        raise UsageError(f"--factor {name}: there are no two whole numbers from {low:g} to {high:g}.")
    scale_marks = [word for word in rest.split(":")[1:] if word.strip() in ("log", "linear")]
    scale = factor.scale if scale_marks else limits.scale
    return Factor(name, float(whole[0]), float(whole[1]), limits.unit, scale, True)


def _whole_domain(knob: Knob, marks: Sequence[str]) -> Factor:
    """Return the factor of a knob's whole domain. Raises UsageError if that has neither a range nor choices."""
    if unknown := [mark for mark in marks if mark not in MARKS]:
        raise UsageError(f"{knob.name} may be followed by :log and :linear, not by :{unknown[0]}.")
    try:
        factor = Factor.of_domain(knob.name, knob.domain)
    except UsageError:
        raise UsageError(
            f"--factor {knob.name} has no range: it takes {knob.domain.words}. Name the values to try: "
            f"{_example(knob)}."
        ) from None
    if not marks or factor.categorical:
        return factor
    return replace(factor, scale=Scale.LOG if "log" in marks else Scale.LINEAR)


def _unit_ratio(factor: Factor, limits: Range) -> float:
    """Return the size of the factor's unit in the knob's unit. Raises UsageError for a unit of another kind."""
    if factor.unit in ("", limits.unit):
        return 1.0
    for kind in KINDS:
        if factor.unit in kind and limits.unit in kind:
            return kind[factor.unit] / kind[limits.unit]
    has = f"its unit is {limits.unit}" if limits.unit else "it has no unit"
    raise UsageError(f"--factor {factor.name}: {factor.unit!r} is not one of its units; {has}.")


def _example(knob: Knob) -> str:
    domain: Domain = knob.domain
    some = domain.categories[:2]
    return f"--factor {knob.name}={','.join(some if len(some) == 2 else ('ONE', 'OTHER'))}"
