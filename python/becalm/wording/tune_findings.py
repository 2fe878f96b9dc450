"""Sentences of findings of a search for settings: where variance comes from, what was not tried and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.nouns.tune_verdict import WITHOUT
from becalm.wording import tune
from becalm.wording.measurement import counted

Numbers = Mapping[str, Any]

SOURCE = ("cpu_share", "cpu_share_low", "cpu_share_high", "spread", "floor", "runs", "runs_for_one_percent")
"""Numbers of the findings on the source of variance (`analysis.variance_source`)."""


def _source(program: str, n: Numbers) -> tuple[str, str, str, str]:
    needed = n.get("runs_for_one_percent")
    return (
        f"{100 * n['cpu_share']:.0f} % of the variance of its wall time goes with its CPU time",
        f"the coefficient of variation of the built-in loop of pure additions is {tune.share(n['floor'])}",
        f"that of {program} {tune.share(n['spread'])}",
        f" For a mean to ±1 % make about {counted(needed, 'run')}." if needed else "",
    )


def processor(program: str, n: Numbers) -> str:
    """The processor's speed varies, whatever the operating system does."""
    part, additions, here, runs = _source(program, n)
    return (
        f"Most of the variation of {program} comes from outside the operating system: {part}, and {additions}, {here}. "
        "The processor itself runs at a varying speed (its clock, its heat, or neighbours on the same chip, as in "
        "a virtual machine). Of this part only settings of the clock can take something away, where the machine has "
        "them; other settings act on the rest. What helps is comparing in turn, where the speed of the moment cancels: "
        f"becalm compare.{runs}"
    )


def program(program: str, n: Numbers) -> str:
    """The program itself, its caches and its memory."""
    part, additions, here, runs = _source(program, n)
    return (
        f"Most of the variation of {program} arises while it computes: {part}; but {additions}, {here}, so it is not "
        "the processor's speed. Look at caches and memory, at where its pages and stack lie, and at what it draws "
        f"itself (hash seeds, time, the order of threads).{runs}"
    )


def waiting(program: str, n: Numbers) -> str:
    """Time in which the program does not compute."""
    part, _, _, runs = _source(program, n)
    return (
        f"Most of the variation of {program} is time in which it does not compute: only {part}. It waits for a CPU, "
        f"a disk or another process; that is what settings of the operating system can change.{runs}"
    )


def parallel(program: str, n: Numbers) -> str:
    """A program that uses several CPUs while settings are tried that restrict it to fewer."""
    return (
        f"{program} keeps {n['cpus']:.1f} CPUs busy at a time, and {', '.join(n['confining'])} would leave it fewer: "
        "it would vary less and take longer. --preserve-multicore leaves such settings out."
    )


def tried(program: str, n: Numbers) -> str:
    """Settings that were to be tried and are not."""
    what = f"sets the same as {n['same_as']} here" if n.get("same_as") else "has nothing that can be set here"
    return f"{n['name']} {what}, so it was not measured."


def budget(program: str, n: Numbers) -> str:
    """What a budget left no time for."""
    profiles = [name for name in n["left_out"] if not name.startswith(WITHOUT)]
    parts = ["what each setting contributes"] if len(profiles) < len(n["left_out"]) else []
    parts += [f"{' and '.join(profiles)}"] if profiles else []
    return f"The time budget was too short to measure {' and '.join(parts)}. A longer --budget says more."


def refused(program: str, n: Numbers) -> str:
    """Settings that the host did not take."""
    return f"{tune.settings_text(n['settings'])} was not measured: {n['error']}"


def partial(program: str, n: Numbers) -> str:
    """A profile of which this host lacks something."""
    return f"{n['profile']} was measured without {', '.join(n['knobs'])}: not available on this machine."


def boots(program: str, n: Numbers) -> str:
    """How often the machine was restarted."""
    return tune.boots(n["boots"], n["boot_ns"], n["share"])


def at_boot(program: str, n: Numbers) -> str:
    """Boot settings that were not tried, with what they do."""
    return tune.not_booted(n["rationale"])


def choice(program: str, n: Numbers) -> str:
    """How a method chose."""
    return str(n["why"])
