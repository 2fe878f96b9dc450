"""Sentences of findings on what else the machine did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.wording.compare import counted, percent

Numbers = Mapping[str, Any]


def contaminated(program: str, n: Numbers) -> str:
    """Return the sentence about rounds during which the machine was not quiet; `dropped`: they were left out by a
    rule."""
    rounds, complete, counts = n["rounds"], n["complete"], n["measures"]
    beyond = ", ".join(
        f"{_limit(measure, most)} in {counts[measure]:,}"
        for measure, most in n["limits"].items()
        if counts.get(measure)
    )
    were = "was" if len(rounds) == 1 else "were"
    said = f"{len(rounds):,} of {counted(complete, 'round')} {were} contaminated ({beyond})"
    return f"{said}; left out, {complete - len(rounds):,} count." if n["dropped"] else f"{said}: becalm explain"


def contamination_unknown(program: str, n: Numbers) -> str:
    """Return the sentence about rounds of which a rule cannot tell whether they were contaminated."""
    rounds, complete = n["rounds"], n["complete"]
    what = ", ".join(f"{measure} in {count:,}" for measure, count in n["measures"].items())
    said = (
        f"Of {len(rounds):,} of {complete:,} rounds it is not known whether they were contaminated by the rule "
        f"{n['rule']}: this machine's record lacks {what}"
    )
    if n["dropped"]:
        return f"{said}. They are left out (--unknown-contamination drop)."
    return f"{said}. They are kept and counted; --unknown-contamination drop leaves them out."


def _limit(measure: str, most: float) -> str:
    """Return a limit as people write it in a rule."""
    return f"{measure}>{percent(most, 0.1)}%" if measure in ("cpu", "steal") else f"{measure}>{most:g}"


def no_load(program: str, n: Numbers) -> str:
    """Return the sentence about a study that explains nothing."""
    if n.get("imported"):
        study = n["study"]
        return (
            f"Study {study} has no record of load: it was measured by another tool. If sysstat recorded the machine at "
            "that time, its record tells the load: sadf -j FILE -- -A > sa.json (FILE of that day, such as "
            f"/var/log/sysstat/sa21); becalm import --study {study} sa.json; becalm explain {study}. Else measure "
            "again: becalm run -- COMMAND, then becalm explain."
        )
    return (
        f"Study {n['study']} has no record of load: it was made with --no-load or on a simulated machine. "
        "Measure again to explain: becalm run -- COMMAND, then becalm explain."
    )


def no_delay(program: str, n: Numbers) -> str:
    """Return the sentence about a program without a delay."""
    return (
        f"{program} on {n['machine']}: its runs hold no CPU time and none was unloaded, so no delay can be computed. "
        "Measure it again with its CPU time: becalm run -- COMMAND, then becalm explain."
    )


def loaded_reference(program: str, n: Numbers) -> str:
    """Return the sentence about steps of a plan without load during which the machine was busy."""
    steps = f"{n['loaded']:,} of {counted(n['steps'], 'step')} without load of {program} on {n['machine']}"
    were = "was" if n["loaded"] == 1 else "were"
    said = f"{steps} {were} not unloaded: others wanted the CPUs, by the waits or the steal that the kernel counted"
    if n["used"]:
        return f"{said}. The other steps are the reference."
    return f"{said}. So its own CPU time is the reference, unless other runs were unloaded."


def network_errors(program: str, n: Numbers) -> str:
    """Return the sentence about errors of the network, which no load explains."""
    return (
        f"On {n['machine']} there were {n['events']:,} errors, drops or collisions beside {n['of']:,} packets, more "
        f"than the usual limit of {100 * n['limit']:g} %: look at cable, switch, duplex and buffers before anything "
        "else (ip -s link)."
    )


def nfs_retransmissions(program: str, n: Numbers) -> str:
    """Return the sentence about calls of NFS that were sent again."""
    return (
        f"On {n['machine']} {n['events']:,} of {n['of']:,} NFS calls were sent again, more than the usual limit of "
        f"{100 * n['limit']:g} %: the server is too slow or the network loses packets (nfsstat -rc)."
    )
