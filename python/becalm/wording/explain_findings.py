"""Sentences of findings on other load on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.wording.numbers import counted, percent

Numbers = Mapping[str, Any]


def contaminated(program: str, n: Numbers) -> str:
    """Return the sentence about rounds during which the machine was not quiet.

    `dropped`: whether a rule left them out."""
    rounds, complete, counts = n["rounds"], n["complete"], n["measures"]
    beyond = ", ".join(
        f"{_limit(measure, most)} in {counts[measure]:,}"
        for measure, most in n["limits"].items()
        if counts.get(measure)
    )
    were = "was" if len(rounds) == 1 else "were"
    sentence = f"{len(rounds):,} of {counted(complete, 'round')} {were} contaminated ({beyond})"
    return (
        f"{sentence} and left out; {complete - len(rounds):,} count."
        if n["dropped"]
        else f"{sentence}: see becalm explain"
    )


def contamination_unknown(program: str, n: Numbers) -> str:
    """Return the sentence about rounds for which a rule cannot decide whether they were contaminated."""
    rounds, complete = n["rounds"], n["complete"]
    lacking = ", ".join(f"{measure} in {count:,}" for measure, count in n["measures"].items())
    sentence = (
        f"It is not known whether {len(rounds):,} of {complete:,} rounds were contaminated by the rule {n['rule']}: "
        f"this machine's record lacks {lacking}"
    )
    if n["dropped"]:
        return f"{sentence}. They are left out (--unknown-contamination drop)."
    return f"{sentence}. They are counted; --unknown-contamination drop leaves them out."


def _limit(measure: str, most: float) -> str:
    """Return a limit in the form in which rules are written."""
    return f"{measure}>{percent(most, 0.1)}%" if measure in ("cpu", "steal") else f"{measure}>{most:g}"


def no_load(program: str, n: Numbers) -> str:
    """Return the sentence about a study without a load record."""
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
    """Return the sentence about a program whose delay cannot be computed."""
    return (
        f"{program} on {n['machine']}: its runs hold no CPU time and none was unloaded, so no delay can be computed. "
        "Measure it again with its CPU time: becalm run -- COMMAND, then becalm explain."
    )


def loaded_reference(program: str, n: Numbers) -> str:
    """Return the sentence about unloaded steps of a plan during which the machine was busy."""
    steps = f"{n['loaded']:,} of {counted(n['steps'], 'step')} that {program} was to run without load on {n['machine']}"
    were = "was" if n["loaded"] == 1 else "were"
    sentence = f"{steps} {were} loaded: others wanted the CPUs, by the waits or the steal that the kernel counted"
    if n["used"]:
        return f"{sentence}. The other steps are the reference."
    return f"{sentence}. The program's own CPU time is the reference, unless other runs were unloaded."


def network_errors(program: str, n: Numbers) -> str:
    """Return the sentence about network errors, which no load explains."""
    return (
        f"On {n['machine']} there were {n['events']:,} errors, drops or collisions for {n['of']:,} packets, more "
        f"than the usual limit of {100 * n['limit']:g} %: look at cable, switch, duplex and buffers before anything "
        "else (ip -s link)."
    )


def nfs_retransmissions(program: str, n: Numbers) -> str:
    """Return the sentence about NFS calls that were sent again."""
    return (
        f"On {n['machine']} {n['events']:,} of {n['of']:,} NFS calls were sent again, more than the usual limit of "
        f"{100 * n['limit']:g} %: the server is too slow or the network loses packets (nfsstat -rc)."
    )
