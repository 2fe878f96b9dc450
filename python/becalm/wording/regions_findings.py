"""Findings about timed regions in words; the table of findings is in `becalm.wording.findings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.units import join_names
from becalm.wording.numbers import counted, percent
from becalm.wording.regions import NAMED, caused, fine
from becalm.wording.short_names import whole

Numbers = Mapping[str, Any]


def limit_unknown(_: str, n: Numbers) -> str:
    """Return the sentence that the limit of the timer is not known."""
    step = "" if n["quantum_ns"] is None else f" Its step is {fine(n['quantum_ns'])}."
    return (
        "The smallest change that this timer can show is not known, so becalm does not report whether something "
        f"varies.{step} Measure it on that machine: becalm clock --quick; or give it: --t-diff 5ns."
    )


def short_regions(_: str, n: Numbers) -> str:
    """Return the sentence about regions below the clock's cost."""
    verb = "takes" if len(n["names"]) == 1 else "take"
    return (
        f"{join_names(whole(n['names']))} {verb} less than an empty region of this clock ({fine(n['cost_ns'])}): "
        "nothing can be judged of such a length. Time several of them as one region."
    )


def below(_: str, n: Numbers) -> str:
    """Return the sentence about regions below the timer's t_min."""
    names = whole(n["names"])
    calls = [f"{count:,} calls of {name}" for name, count in zip(names[:NAMED], n["calls"], strict=False)]
    more = f" ({len(names) - NAMED} more names are as short)" if len(names) > NAMED else ""
    verb = "takes" if len(names) == 1 else "take"
    return (
        f"{join_names(names[:NAMED])}{more} {verb} less than {fine(n['t_min_ns'])}, the shortest that this timer "
        f"measures to 1 %: part of their variation comes from the timer. Time {join_names(calls)} as one region."
    )


def migrated(_: str, n: Numbers) -> str:
    """Return the sentence about regions that began and ended on different processors."""
    return (
        f"{counted(n['regions'], 'region')} of {n['of']:,} began on one processor and ended on another: left out, "
        "since their counters need not agree. Pin the program: taskset -c 1 PROGRAM."
    )


def backwards(_: str, n: Numbers) -> str:
    """Return the sentence about regions of negative length."""
    return (
        f"{counted(n['regions'], 'region')} of {n['of']:,} ended before they began: the counters of this machine's "
        "processors are out of step. They are left out; pin the program."
    )


def dropped(_: str, n: Numbers) -> str:
    """Return the sentence about regions dropped by a full ring."""
    which = (
        "the oldest were dropped, the last are stored"
        if n["keeps_last"]
        else "the first are stored, later ones were dropped"
    )
    return (
        f"A full ring dropped {counted(n['regions'], 'region')} next to the {n['recorded']:,} recorded: {which}. Give "
        "it more memory, or flush it more often."
    )


def thinned(_: str, n: Numbers) -> str:
    """Return the sentence about a sample taken of more regions than fit in memory."""
    return f"Of {n['recorded']:,} regions {n['read']:,} were taken at random, to bound memory; counts are of these."


def damage(_: str, n: Numbers) -> str:
    """Return the sentence about a file that is cut off or damaged."""
    parts = []
    if n["header"]:
        parts.append("its first header is damaged (the one at its end was read)")
    if n["places"]:
        parts.append(f"{counted(n['bytes'], 'byte')} in {counted(n['places'], 'place')} cannot be read")
    if n["open"]:
        parts.append("it was not closed: the program was ended, or the file is cut off")
    lost = f" {counted(n['lost'], 'region')} are known to be lost." if n["lost"] else ""
    return f"The file is not whole: {'; '.join(parts)}.{lost} The rest is intact."


def store_damage(_: str, n: Numbers) -> str:
    """Return the sentence about stored pieces whose checksum does not match."""
    return f"{counted(n['pieces'], 'piece')} of the file cannot be read back from the store and are left out."


def clock(_: str, n: Numbers) -> str:
    """Return the sentence about a clock that cannot time short code."""
    if n["trapped"]:
        return "A hypervisor emulates each read of this clock: nothing short can be timed by it."
    return f"The processor's own counter could not be used: {n['source']} was read instead."


def rate(_: str, n: Numbers) -> str:
    """Return the sentence about a counter that is not announced as invariant."""
    hidden = " (a hypervisor may hide that)" if n["hypervisor"] else ""
    return (
        f"The processor does not report that its counter runs at one rate{hidden}: times in ns are right only if it "
        "does, which becalm clock reports on that machine. Lengths measured soon after each other can be compared "
        "anyway."
    )


def elsewhere(_: str, n: Numbers) -> str:
    """Return the sentence that file and stored evaluation come from different machines."""
    return (
        "The file is of another machine, and the evaluation of timers stored here is of this one, so it is not used. "
        "Give what holds there: --t-diff 5ns, or FILE of becalm clock --json."
    )


def stepped(_: str, n: Numbers) -> str:
    """Return the sentence that the counter and the time of day disagree."""
    return (
        "While the file was open the counter and the time of day moved by different amounts: the clock was set, or the "
        "machine slept. Lengths come from the counter; the record of load cannot be aligned with them exactly."
    )


def cause(program: str, n: Numbers) -> str:
    """Return the sentence about the load of the machine during outliers."""
    return (
        f"{whole([program])[0]}: {counted(n['outliers'], 'outlier')} fell into times in which {caused(n['columns'])} "
        f"(study {n['study']}, {counted(n['ticks'], 'tick')}, p = {n['p_value']:.2g} over all tests)."
    )


def no_cause(program: str, n: Numbers) -> str:
    """Return the sentence that the load record explains nothing."""
    who = f" of {whole([program])[0]}" if program else ""
    match n["why"]:
        case "apart":
            return f"Study {n['study']} has no record of load of the time in which the regions were timed."
        case "few":
            return (
                f"Names with outliers were timed within {counted(n['ticks'], 'tick')} of the load of study "
                f"{n['study']}: too few to tell what outliers come with. becalm watch -- PROGRAM records it over time."
            )
        case _:
            return f"Nothing in the load of study {n['study']} comes with the outliers{who}."


def other_machine(_: str, n: Numbers) -> str:
    """Return the sentence about files of different machines."""
    return (
        f"The files are of different machines ({join_names(whole(n['machines']))}): times of each are right, but "
        "their differences come from the machines and the code together."
    )


def other_timer(_: str, n: Numbers) -> str:
    """Return the sentence that the stored evaluation is of another clock."""
    return (
        f"The evaluation of timers stored here is of a clock of {n['kept_hz'] / 1e6:.1f} MHz, the file's has "
        f"{n['hz'] / 1e6:.1f} MHz, so it is not used. Give what holds there: --t-diff 5ns, or FILE of becalm clock "
        "--json."
    )


def one_side(_: str, n: Numbers) -> str:
    """Return the sentence about names that occur on one side only."""
    return f"Only the {n['side']} files have {join_names(whole(n['names']))}."


def some_files(_: str, n: Numbers) -> str:
    """Return the sentence about names that occur in some of the files only."""
    return f"Not all {n['files']} files have {join_names(whole(n['names'])[:NAMED])}{_more(n['names'])}."


def cut_files(_: str, n: Numbers) -> str:
    """Return the sentence about files that end before they were closed."""
    which = f"{join_names(n['files'][:NAMED])}{_more(n['files'])}"
    verb = "was" if len(n["files"]) == 1 else "were"
    return (
        f"{which} {verb} not closed: a process was ended, still runs, or a file is cut off. Their complete part is "
        "shown."
    )


def _more(names: list[str]) -> str:
    return f" and {len(names) - NAMED} more" if len(names) > NAMED else ""


def one_file(_: str, n: Numbers) -> str:
    """Return the sentence that one file a side makes pieces of a process the unit of comparison."""
    return (
        "There is only one file on a side, so intervals rest on pieces of a file. They do not include how processes "
        "of the same code differ (addresses, layout), often by several percent of a short region. "
        f"Give at least {n['wanted']} files a side."
    )


def between(_: str, n: Numbers) -> str:
    """Return the sentence about the smallest difference of a region that the timer can show."""
    share = percent(n["share"])
    name = whole([n["name"]])[0]
    return (
        f"The timer cannot show a change of {name} below {share} %, which is more than the limit, however many "
        f"regions and files there are. Time {n['calls']:,} calls as one region."
    )
