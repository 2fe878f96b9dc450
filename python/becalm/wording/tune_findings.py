"""Sentences of findings of a search for settings: the sources of variance, and what was not tried and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from becalm.nouns.finding import Interval
from becalm.results.tune_arms import WITHOUT
from becalm.wording import tune
from becalm.wording.numbers import counted

Numbers = Mapping[str, Any]


def _source(program: str, n: Numbers) -> tuple[str, str, str, str]:
    needed = n.get("runs_for_one_percent")
    return (
        f"{100 * n['cpu_share']:.0f} % of the variance of its wall time goes with its CPU time",
        f"the coefficient of variation of the built-in loop of pure additions is {tune.share(n['floor'])}",
        f"that of {program} {tune.share(n['spread'])}",
        f" For a mean to ±1 % make about {counted(needed, 'run')}." if needed else "",
    )


def processor(program: str, n: Numbers) -> str:
    """Return the sentences about a varying speed of the processor, and whether settings help all the same."""
    part, additions, here, runs = _source(program, n)
    cause = (
        f"Most of the variation of {program} arises while it computes: {part}, and {additions}, {here}. "
        "The processor itself runs at a varying speed: its clock, its heat, or neighbours on the same chip, as in a "
        "virtual machine."
    )
    if n.get("helped"):
        return (
            f"{cause} Settings of the operating system help all the same: with {tune.named(n['helped'])} it varies "
            f"{tune.factor(n['reduction'])} times less."
        )
    advice = f" What helps is comparing in turn, where the speed of the moment cancels: becalm compare.{runs}"
    if n.get("at_most") is not None and math.isfinite(n["at_most"]):
        return (
            f"{cause} That is outside the operating system, and it was put to the test: no settings measured on fresh "
            f"runs are shown to help, and none reduces the variation more than {tune.factor(n['at_most'])}-fold."
            f"{advice}"
        )
    return f"{cause} Whether settings help all the same was not measured on fresh runs.{advice}"


def strongest(program: str, n: Numbers) -> str:
    """Return the sentence about the strongest settings, measured because the search chose nothing."""
    if n["helped"]:
        end = f"With {tune.named(n['helped'])} it varies less."
    else:
        # An unbounded interval leaves everything open.
        most = n["at_most"]
        known = most is not None and 1 < most < math.inf
        open_until = (
            f"; a spread that falls up to {most:.3g}-fold ({n['at_most_of']}) is not ruled out" if known else ""
        )
        end = f"Nothing is shown to help{open_until}."
    return f"The search chose nothing, so the strongest settings were measured: {', '.join(n['arms'])}. {end}"


def drifted(program: str, n: Numbers) -> str:
    """Return the sentence about a machine whose speed changed during the search."""
    return (
        f"From block to block of the search the time of all settings changed by {tune.share(n['spread'])} (drift, p "
        f"{n['p_value']:.2g}): it was subtracted before anything was fitted."
    )


def censored(program: str, n: Numbers) -> str:
    """Return the sentence about failed trials and those that were ended early.

    Results of an older becalm have no `slow`."""
    slow = n.get("slow", 0)
    if slow == n["failed"]:
        outcome = f"{'was' if slow == 1 else 'were'} ended early: a run of it took longer than --abort-above allows"
    else:
        outcome = "failed or took too long" + (f", {slow} of them longer than --abort-above allows" if slow else "")
    return (
        f"{counted(n['failed'], 'trial')} of {n['trials']} {outcome}. Such a trial has no time: it is left out of the "
        "fit, and its settings are not chosen."
    )


def no_fit(program: str, n: Numbers) -> str:
    """Return the sentence on why no surface was fitted."""
    return f"No surface was fitted to the trials: {n['why']}"


def program(program: str, n: Numbers) -> str:
    """Return the sentences about variation that comes from the program, its caches and its memory."""
    part, additions, here, runs = _source(program, n)
    return (
        f"Most of the variation of {program} arises while it computes: {part}; but {additions}, {here}, so it is not "
        "the processor's speed. Look at caches and memory, at where its pages and stack lie, and at what it draws "
        f"itself (hash seeds, time, the order of threads).{runs}"
    )


def waiting(program: str, n: Numbers) -> str:
    """Return the sentences about variation in the time when the program does not compute."""
    part, _, _, runs = _source(program, n)
    return (
        f"Most of the variation of {program} is time in which it does not compute: only {part}. It waits for a CPU, "
        f"a disk or another process; that is what settings of the operating system can change.{runs}"
    )


def parallel(program: str, n: Numbers) -> str:
    """Return the sentences about a program with several CPUs and settings that restrict it to fewer."""
    return (
        f"{program} keeps {n['cpus']:.1f} CPUs busy at a time, and {', '.join(n['confining'])} would leave it fewer: "
        "it would vary less and take longer. --preserve-multicore leaves such settings out."
    )


def tried(program: str, n: Numbers) -> str:
    """Return the sentence on why a requested setting was not tried."""
    reason = f"sets the same as {n['same_as']} here" if n.get("same_as") else "has nothing that can be set here"
    return f"{n['name']} {reason}, so it was not measured."


def list_best(program: str, n: Numbers) -> str:
    """Return the sentence that a published list of settings is recommended."""
    times = tune.factor(Interval(n["ratio"], n["low"], n["high"]))
    return (
        f"The list of {n['list']} does better than what the search chose, {times} times ({n['low']:.2g} to "
        f"{n['high']:.2g}), and is recommended."
    )


def no_better(program: str, n: Numbers) -> str:
    """Return the sentence that the chosen settings are no better than a published list."""
    times = tune.factor(Interval(1 / n["ratio"], 1 / n["high"], 1 / max(n["low"], 1e-9)))
    return (
        f"The choice is not shown to be better than the list of {n['list']}: {times} times ({1 / n['high']:.2g} to "
        f"{1 / max(n['low'], 1e-9):.2g})."
    )


def budget(program: str, n: Numbers) -> str:
    """Return the sentence about the parts that the budget was too short for."""
    profiles = [name for name in n["left_out"] if not name.startswith(WITHOUT)]
    parts = ["what each setting contributes"] if len(profiles) < len(n["left_out"]) else []
    parts += [f"{' and '.join(profiles)}"] if profiles else []
    return f"The time budget was too short to measure {' and '.join(parts)}. A longer --budget measures them."


def refused(program: str, n: Numbers) -> str:
    """Return the sentence about settings that the host refused."""
    return f"{tune.settings_text(n['settings'])} was not measured: {n['error']}"


def partial(program: str, n: Numbers) -> str:
    """Return the sentence about a profile that was measured in part, since this host lacks some knobs."""
    return f"{n['profile']} was measured without {', '.join(n['knobs'])}: not available on this machine."


def boots(program: str, n: Numbers) -> str:
    """Return the sentence about restarts of the machine."""
    return tune.boots(n["boots"], n["boot_ns"], n["share"])


def at_boot(program: str, n: Numbers) -> str:
    """Return the sentences about boot settings that were not tried."""
    return tune.not_booted(n["rationale"])


def choice(program: str, n: Numbers) -> str:
    """Return the reason for a method's choice."""
    return str(n["why"])
