"""Sentences about applying a placement to running processes and following them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from becalm.results.place import PlacementAdvice
from becalm.units import join_names
from becalm.wording.numbers import counted
from becalm.wording.place import percent
from becalm.wording.printable import one_line, printable


def no_pair(text: str) -> str:
    """Return the sentence about a word that is not NAME=PID."""
    return f"{printable(text)!r} is not of the form NAME=PID, as in web=1234."


def advice_alone(option: str) -> str:
    """Return the sentence about an option of the advice that cannot go with --apply."""
    return f"{option} belongs to the advice itself: write `becalm place {option} …` without --apply and --watch."


def no_task(name: str, tasks: Sequence[str]) -> str:
    """Return the sentence about a task that the profile does not have."""
    return f"The profile has no program {printable(name)!r}. It has: {', '.join(map(one_line, tasks))}."


def no_process(name: str, pid: int) -> str:
    """Return the sentence about a named process that does not exist."""
    return f"There is no process {pid}, which was named as {one_line(name)}: it has ended. Nothing was set."


def none_running(tasks: Sequence[str]) -> str:
    """Return the sentence that no task is running."""
    return f"None of {join_names(map(one_line, tasks))} runs, as far as names tell. Name the processes: --pid NAME=PID."


def offline(name: str, cpus: Sequence[int]) -> str:
    """Return the sentence about a chip whose CPUs are all offline."""
    return f"{one_line(name)} belongs on the CPUs {_list(cpus)}, but none of them is online. Nothing was set."


def not_allowed(name: str, pid: int, cpus: Sequence[int], allowed: Sequence[int]) -> str:
    """Return the sentence about CPUs that a process may not use."""
    return (
        f"{one_line(name)} (process {pid}) belongs on the CPUs {_list(cpus)}, but its affinity and its "
        f"cpuset allow only {_list(allowed)}. Nothing was set."
    )


def in_rounds() -> str:
    """Return the sentence that rounds cannot be applied."""
    return (
        "All CPUs share one cache, so no choice of CPUs separates programs, and nothing was set. What helps is running "
        "them in rounds: `--export taskset` is a script that does."
    )


def no_cpus() -> str:
    """Return the sentence about chips without CPUs."""
    return "The chips have no CPU numbers, so nothing can be set: leave --chips out, or give chips their `cpus`."


def no_gain(advice: PlacementAdvice) -> str:
    """Return the sentence about a gain that is not shown."""
    gain = advice.over_random
    if gain.noise is None:
        return (
            f"It is not known how certain the gain of {percent(gain.estimate)} is, so nothing was set. Measure more "
            "rounds, or apply it with --force."
        )
    return (
        f"The gain of {percent(gain.estimate, gain.noise)} is not clearly above twice its noise of "
        f"{percent(gain.noise, gain.noise)}, so nothing was set. To apply it nevertheless: --force."
    )


def needs_processes() -> str:
    """Return the sentence about --apply without processes."""
    return "Which processes are to be placed? Name them (--pid NAME=PID), or have them found by name (--pids)."


def needs(verb: str, option: str) -> str:
    """Return the sentence about an option that only --apply or --watch takes."""
    return f"{option} is about placing running processes: give {verb}, too."


def applied(where: Mapping[str, Sequence[int]], processes: int, until: str) -> str:
    """Return the sentence about a placement that was applied."""
    rows = "; ".join(f"{one_line(name)} on {_list(cpus)}" for name, cpus in where.items())
    return f"{counted(processes, 'process').replace('processs', 'processes')} placed: {rows}. {until}"


def until_reset() -> str:
    """Return the sentence on how long an applied placement lasts and how it is undone."""
    return "It stays until `becalm reset`."


def until_end(seconds: float | None) -> str:
    """Return the sentence on how long a watched placement lasts."""
    return "It lasts until Ctrl-C." if seconds is None else f"It lasts for {seconds:g} s, or until Ctrl-C."


def undone() -> str:
    """Return the sentence at the end of a watched placement."""
    return "All processes have their CPUs back."


def moved(why: str, where: Mapping[str, Sequence[int]]) -> str:
    """Return the sentence about a change of the placement while watching."""
    rows = "; ".join(f"{one_line(name)} on {_list(cpus)}" for name, cpus in where.items())
    return f"{why} {rows or 'no process is placed'}."


def came_and_went(came: Sequence[str], gone: Sequence[str]) -> str:
    """Return the reason of a change: the tasks that came and went."""
    parts = [f"{join_names(map(one_line, came))} came"] if came else []
    parts += [f"{join_names(map(one_line, gone))} ended"] if gone else []
    return f"{' and '.join(parts)}:"


def worth_moving(gain: float, needed: float) -> str:
    """Return the reason of a change: the gain of another sharing over the cost of moving."""
    return f"Another sharing is worth {percent(gain)} more, which is above the {percent(needed)} that moving takes:"


def _list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))
