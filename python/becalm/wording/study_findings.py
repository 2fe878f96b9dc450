"""Sentences of findings on how a measurement went: failures, leftover processes, changed settings, several hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.units import join_names
from becalm.wording import numbers, run_problems, survey, tune
from becalm.wording.printable import printable

SEEDS_NAMED = 10
"""The most seeds that a sentence lists."""

Numbers = Mapping[str, Any]


def failure(program: str, n: Numbers) -> str:
    """Return the sentence about a failed run, or, with `arm`, about the failed runs under some settings."""
    if "arm" in n:
        return tune.failed(n["arm"], program, n["failed"], n["runs"])
    return run_problems.failure(program, n)


def left_behind(program: str, n: Numbers) -> str:
    """Return the sentence about descendants that outlived their program."""
    return run_problems.left_behind(program, n["runs"])


def emulated(program: str, n: Numbers) -> str:
    """Return the sentence about times that are emulated and say nothing about a real machine."""
    host = printable(n.get("host") or "this host")
    return f"Times on {host} are emulated ({n['reason']}): they say nothing about a real processor."


def settings(program: str, n: Numbers, runs: str = "these runs") -> str:
    """Return the sentences about the settings in force while programs ran."""
    sentences = []
    if n["settings"]:
        sentences.append(f"Settings of {runs}: {_pairs(n['settings'])}.")
    if n["standing"]:
        sentences.append(f"Applied before, until `becalm reset`: {_pairs(n['standing'])}.")
    return " ".join(sentences)


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def equal_layouts(program: str, n: Numbers) -> str:
    """Return the sentence about seeds that gave the same program as others."""
    seeds, count = n["seeds"], n["layouts"]
    some = ", ".join(map(str, seeds[:SEEDS_NAMED])) + (" …" if len(seeds) > SEEDS_NAMED else "")
    verb = "seed {} gives a program" if len(seeds) == 1 else "seeds {} give programs"
    return (
        f"{program}: {verb.format(some)} that another seed gives, too. Of {numbers.counted(count, 'layout')} "
        f"{count - len(seeds)} are different, and only these are measured."
    )


def neighbours(program: str, n: Numbers) -> str:
    """Return the sentence about neighbours that ran alongside the programs."""
    names = join_names(printable(neighbour) for neighbour in n["neighbours"])
    where = f" on CPUs {n['cpus']}" if n["cpus"] else ""
    return f"Running next to {program or 'these runs'}{where}: {names}."


def needs_root(knob: str) -> str:
    """Return the sentence about an applied setting that has no effect on programs started without rights."""
    return (
        f"{knob} is on, but only root can run programs on the CPUs that it keeps free: these programs run on "
        "others. Use --sudo, or `becalm apply PROFILE -- PROGRAM`."
    )


def setting_changed(program: str, n: Numbers) -> str:
    """Return the sentence about a setting that something else changed while becalm held it."""
    return run_problems.drift(n)


def setting_clamped(program: str, n: Numbers) -> str:
    """Return the sentence about a setting that the kernel changed to another value than requested."""
    return f"The kernel set {n['knob']} to {n['found']} instead of {n['wanted']} ({n['place']})."


def remark(program: str, n: Numbers) -> str:
    """Return the remark that was shown during the measurement."""
    return str(n["said"])


def imported(program: str, n: Numbers) -> str:
    """Return the sentence about runs that another tool measured."""
    return "Imported from another tool: machine, order and conditions of these runs are unknown."


def nothing(program: str, n: Numbers) -> str:
    """Return the sentence that there are no settings to transfer to other hosts."""
    return f"Nothing is recommended on {n['host']}, so nothing was tried on the others."


def same_machine(program: str, n: Numbers) -> str:
    """Return the sentence about host names that are the same machine."""
    return (
        f"{join_names(n['hosts'])} are one machine, measured at the same time: they disturbed each other, and count as "
        "several hosts although they are one. Name the machine only once."
    )


def busy(program: str, n: Numbers) -> str:
    """Return the sentence about other load on a machine while it was surveyed."""
    return survey.busy(n["host"], n["wait_share"])


def few(program: str, n: Numbers) -> str:
    """Return the sentence about too few machines of a kind."""
    return survey.few(n["processor"], n["machines"], n["least"])


def rate_not_kept(program: str, n: Numbers) -> str:
    """Return the sentence about a survey whose rate of wrong names is higher than stated."""
    return (
        f"Machines with {n['processor']} differ much in how they vary at {n['work']}, and consecutive loops of a "
        f"machine are alike (a correlation of {n['memory']:.2f}): up to one in ten of those named there may be named "
        "wrongly, more than stated. Measure them again with more loops before you believe it."
    )
