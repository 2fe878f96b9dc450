"""Sentences on what programs waited for, and who caused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from becalm.units import join_names
from becalm.wording.numbers import counted, duration, memory

Numbers = Mapping[str, Any]

CHARGED = 3
"""The number of culprits named in a sentence; the JSON form has all."""


def waiting(program: str, n: Numbers) -> str:
    """Return the sentence about what runs waited for. `n`: the JSON form of a Waiting (`becalm.load.culprits`)."""
    lost, wall, runs = n["lost_ns"], n["wall_ns"], n["runs"]
    subject = f"{program} waited" if program else "The programs waited"
    head = f"{subject} {_share(lost, wall)} of the time for a CPU ({duration(lost / runs)} a run{_scope(n)})"
    parts = [f"others on this machine {_share(n['others_ns'], lost)}{_who(n)}"]
    parts.append(f"the program itself {_share(n['own_ns'], lost)}")
    parts += [_quota(n), f"the hypervisor {_share(n['hypervisor_ns'], lost)}"]
    if n["unknown_ns"] >= 0.005 * lost:
        parts.append(f"either others or the program itself {_share(n['unknown_ns'], lost)}")
    return f"{head}: {', '.join(parts)}."


def disk_waiting(program: str, n: Numbers) -> str:
    """Return the sentence about waits for disks. `n`: the JSON form of a DiskWaiting (`becalm.load.disk_culprits`)."""
    lost, wall, runs = n["lost_ns"], n["wall_ns"], n["runs"]
    subject = f"{program} waited" if program else "The programs waited"
    head = f"{subject} {_share(lost, wall)} of the time for disks ({duration(lost / runs)} a run)"
    own = _share(n["own_bytes"], n["disk_bytes"])
    culprits: Sequence[Numbers] = n["culprits"]
    if culprits:
        more = len(culprits) - CHARGED
        named = ", ".join(charged(numbers) for numbers in culprits[:CHARGED])
        cause = f"caused by {named}{f', and {more} more' if more > 0 else ''}"
    elif suspects := n["suspects"]:
        together = f"{100 * suspects['low']:.0f} %"
        cause = f"caused by {join_names(suspects['names'])} together at least {together}, how much each is not known"
    elif n["unread"]:
        cause = "who caused it is not known, since the traffic of some processes may not be read"
    else:
        cause = "nobody is known to have caused a fifth of it"
    return f"{head}; others moved the larger part of the bytes, the program {own}: {cause}."


def memory_waiting(program: str, n: Numbers) -> str:
    """Return the sentence about waits for memory. `n`: the JSON form of a `becalm.load.memory_waits.MemoryWaiting`."""
    lost, wall, runs = n["lost_ns"], n["wall_ns"], n["runs"]
    subject = f"{program} waited" if program else "The programs waited"
    head = f"{subject} {_share(lost, wall)} of the time for memory ({duration(lost / runs)} a run)"
    growers = ", ".join(f"{culprit(grower)} {memory(grower['size_bytes'])}" for grower in n["growers"][:CHARGED])
    grown = f"meanwhile the memory of others grew by {memory(n['grown_bytes'])}{f' ({growers})' if growers else ''}"
    if swapped := n["swapped_bytes"]:
        grown += f", and {memory(swapped)} were swapped out"
    return f"{head}; {grown}."


def network_use(program: str, n: Numbers) -> str:
    """Return the sentence about the network. `n`: the JSON form of a NetworkUse (`becalm.load.network_traffic`)."""
    whole = n["own_bytes"] + n["others_bytes"]
    rate = f"{memory(whole / n['interval_ns'] * 1e9)}/s"
    subject = f"{program} slept" if program else "the programs slept"
    movers = ", ".join(f"{culprit(mover)} {100 * mover['share']:.0f} %" for mover in n["movers"][:CHARGED])
    others = f"others moved {_share(n['others_bytes'], whole)}{f' ({movers})' if movers else ''}"
    slept = _share(n["slept_ns"], n["wall_ns"])
    return f"The network carried {rate}, of which {others}, while {subject} {slept} of the time."


def _quota(n: Numbers) -> str:
    """Return the part that quotas caused, with those that held the programs back."""
    share = _share(n["quota_ns"], n["lost_ns"])
    of = f" of {counted(int(n['cpus']), 'CPU')}" if n["cpus"] else ""
    if held := [throttled(quota, of) for quota in n["quotas"] if quota["throttled"]]:
        return f"a quota ({', '.join(held)}) {share}"
    if n["quota_cpus"] is not None and of:
        return f"a quota ({n['quota_cpus']:g}{of}) {share}"
    return f"a quota {share}" if n["quota_ns"] else "no quota"


def throttled(n: Numbers, of: str = "") -> str:
    """Return how often a quota held its group back. `n`: the JSON form of a QuotaCounts; `of`: " of 2 CPUs"."""
    periods = counted(n["periods"], "period")
    return f"throttled in {n['throttled']:,} of {periods} by {n['group']}, which allows {n['cpus']:g}{of}"


def culprit(n: Numbers) -> str:
    """Return the name of a culprit. `n`: the JSON form of a Culprit."""
    name, group = n["name"], n["group"]
    if n["level"] == "group":
        return f"control group {group}"
    if n["pid"] is not None:
        return f"{name} ({n['pid']})"
    count = n["count"]
    return f"{name} ({count:,} process{'' if count == 1 else 'es'})"


def charged(n: Numbers) -> str:
    """Return a culprit with its share of the waits. `n`: the JSON form of a Culprit."""
    low, high = 100 * n["low"], 100 * n["high"]
    span = f"{low:.0f} %" if round(low) == round(high) else f"{low:.0f} % to {high:.0f} %"
    return f"{culprit(n)} {span}"


def _who(n: Numbers) -> str:
    """Return the culprits among the others, in brackets."""
    culprits: Sequence[Numbers] = n["culprits"]
    if culprits:
        more = len(culprits) - CHARGED
        named = [charged(numbers) for numbers in culprits[:CHARGED]]
        return f" ({', '.join(named)}{f', and {more} more' if more > 0 else ''})"
    if n["others_ns"] < 0.02 * n["wall_ns"]:
        return ""
    if suspects := n["suspects"]:
        together = f"{join_names(suspects['names'])} together at least {100 * suspects['low']:.0f} %"
        return f" ({together}, how much each is not known)"
    if not n["blocks"]:
        return " (who was not recorded)"
    return " (nobody in particular: no process is known to have caused a fifth of it)"


def _scope(n: Numbers) -> str:
    return ", its first thread" if n["several"] and n["scope"] == "leader" else ""


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
