"""The choice of two CPUs that run two programs at the same time: on different cores of one kind, near each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.units import cpu_list


class TwoCpus(msgspec.Struct, frozen=True):
    """Two CPUs, or the reason why there are none, as a part of a sentence without a full stop."""

    cpus: tuple[int, int] | None = None
    reason: str = ""


def two_cpus(facts: Mapping[str, Any]) -> TwoCpus:
    """Return two CPUs that programs may use, on different cores of one kind, with a common last cache if possible.

    The highest numbers are preferred, because the lowest CPUs usually serve interrupts.
    """
    cpu = facts.get("cpu") or {}
    allowed = _parse_list(cpu.get("allowed"))
    if not allowed:
        return TwoCpus(reason="it is not known which CPUs programs may use there")
    if len(allowed) < 2:
        return TwoCpus(reason="programs may use one CPU only")
    caches = (facts.get("caches") or {}).get("levels") or ()
    cores = _cores(cpu, caches)
    if cores is None:
        return TwoCpus(reason="it is not known which CPUs are siblings of one core")
    kinds = [_parse_list(cpu.get(name)) for name in ("performance_cpus", "efficiency_cpus")]
    far: tuple[int, int] | None = None
    for high, low in ((high, low) for high in reversed(allowed) for low in reversed(allowed) if low < high):
        if low in cores.get(high, ()) or any((high in kind) != (low in kind) for kind in kinds):
            continue
        if _share_last(caches, (low, high)):
            return TwoCpus((low, high))
        far = far or (low, high)
    if far is None:
        return TwoCpus(reason=f"CPUs {cpu['allowed']} are siblings of one core, or of different kinds")
    return TwoCpus(far)


def _cores(cpu: Mapping[str, Any], caches: Sequence[Mapping[str, Any]]) -> Mapping[int, tuple[int, ...]] | None:
    """Return the siblings of each CPU, which share its first-level data cache; None where they are unknown."""
    if cpu.get("threads_per_core") == 1 or cpu.get("smt_active") is False:
        return {}
    for cache in caches:
        if cache.get("level") == 1 and cache.get("type") == "data":
            groups = [_parse_list(text) for text in cache.get("shared_cpu_lists") or ()]
            return {number: group for group in groups for number in group}
    return None


def _share_last(caches: Sequence[Mapping[str, Any]], pair: tuple[int, int]) -> bool:
    """Return whether two CPUs share the largest cache; true where no cache is known."""
    if not caches:
        return True
    last = max(caches, key=lambda cache: int(cache.get("level") or 0))
    groups = [_parse_list(text) for text in last.get("shared_cpu_lists") or ()]
    return any(set(pair) <= set(group) for group in groups)


def _parse_list(text: object) -> tuple[int, ...]:
    """Return the CPUs of a list in the kernel's form; none of an invalid list."""
    if not isinstance(text, str) or not text:
        return ()
    try:
        return cpu_list(text)
    except UsageError:
        return ()
