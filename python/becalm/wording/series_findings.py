"""Sentences of findings on the series of runs of one program: warm-up, drift, levels, period, modes, outliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from becalm.load.waterfall import IO, MEMORY, QUEUE, SLOWER, STEAL, UNEXPLAINED
from becalm.wording.numbers import counted, duration, percent

Numbers = Mapping[str, Any]


def short(program: str, n: Numbers) -> str:
    """Return the sentence about runs that take about a millisecond."""
    return (
        f"A run takes only {duration(n['median_ns'])}: most of that is starting and ending a process. "
        "To measure the work itself, let the program do more of it in one run."
    )


def warmup(program: str, n: Numbers) -> str:
    """Return the sentence about slow first runs."""
    return (
        f"The first {counted(n['drop'], 'run')} took {percent(n['excess'])} % longer than the rest: "
        f"the program, its files or the processor warm up. Use --warmup {n['drop']} to leave them out."
    )


def drift(program: str, n: Numbers) -> str:
    """Return the sentence about a trend over the runs."""
    way = "slower" if n["change"] > 0 else "faster"
    return (
        f"It became {percent(abs(n['change']))} % {way} from the first to the last run "
        f"(p = {n['p_value']:.2g}): one mean hides that. `becalm compare` is immune: its order is random."
    )


def levels(program: str, n: Numbers) -> str:
    """Return the sentence about a level that changes late in the series."""
    way = "slower" if n["change"] > 0 else "faster"
    more = ""
    if n["levels"] > 2:
        more = f"; the {n['levels']} levels of the last sixth of the runs differ from the last by up to "
        more += f"{percent(n['spread'])} %"
    return (
        f"The level changes at run {n['run']:,} of {n['runs']:,}: from there on runs are {percent(abs(n['change']))} % "
        f"{way} than before{more}. It has not settled, and one mean describes none of its levels."
    )


def period(program: str, n: Numbers) -> str:
    """Return the sentence about a periodic component."""
    return f"The times rise and fall with a period of about {n['period']:.1f} runs: something happens periodically."


def bimodal(program: str, n: Numbers) -> str:
    """Return the sentence about two modes."""
    return (
        f"The times are bimodal: one mode near {duration(n['low_ns'])} ({percent(n['low_share'], 0.01)} % of the "
        f"runs), the other near {duration(n['high_ns'])}. Mean and interval describe neither. Memory layout and CPU "
        "placement are the usual causes; pin the program (--set cpus=N) or switch address randomisation off "
        "(--set aslr=off) to find out."
    )


def outliers(program: str, n: Numbers) -> str:
    """Return the sentence about outliers, with the reasons of the farthest ones."""
    parts = [
        f"run {seq} took {_far(change)}: {reason(why)}"
        for seq, change, why in zip(n["seqs"], n["changes"], n["reasons"], strict=True)
    ]
    named = "; ".join(parts)
    verb = "is an outlier" if n["count"] == 1 else "are outliers"
    some = n["count"] > len(parts)
    more = f" The {len(parts)} farthest: " if some else " "
    named = named if some else named[0].upper() + named[1:]
    of_program = f" of {program}" if n.get("several") else ""
    return f"{n['count']} of {n['runs']:,} runs{of_program} {verb} (kept).{more}{named}."


def _far(change: float) -> str:
    """Return the distance of a run from the median run: from twice its time on as a factor, else a percentage."""
    if change >= 1:
        return f"{1 + change:.2g} times as long" if change < 99 else f"{1 + change:,.0f} times as long"
    return f"{percent(abs(change))} % {'longer' if change > 0 else 'less'}"


def reason(why: Numbers) -> str:
    """Return the reason why a run took longer or less than the median run (`analysis.outlier_reasons`)."""
    return _REASONS[why["kind"]](why)


def _part_of_excess(text: str) -> Callable[[Numbers], str]:
    """Return a function that words a reason as a part of the excess time."""

    def sentence(why: Numbers) -> str:
        held = ", held back by the quota of its control group" if why.get("quota") else ""
        return f"{duration(why['part_ns'])} of {duration(why['excess_ns'])} {text}{held}"

    return sentence


_REASONS: Mapping[str, Callable[[Numbers], str]] = {
    QUEUE: _part_of_excess("it waited for a CPU"),
    IO: _part_of_excess("it waited for a disk"),
    MEMORY: _part_of_excess("memory was short (swapping and reclaim)"),
    STEAL: _part_of_excess("the hypervisor ran other guests (steal)"),
    SLOWER: _part_of_excess("is CPU time, so the processor ran it slower"),
    UNEXPLAINED: _part_of_excess(
        "neither CPU time nor the run queue explains: it slept, or waited for a file or another process"
    ),
    "kernel": _part_of_excess("is time inside the kernel"),
    "no_cpu_time": lambda why: "the record holds no CPU time",
    "kernel_alike": lambda why: "its time inside the kernel differs by as much",
    "cpu_alike": lambda why: "its CPU time differs likewise, so the processor ran it slower or faster",
    "waited": lambda why: f"it waited {duration(why['wait_ns'])} for a CPU",
    "page_reads": lambda why: f"{counted(why['pages'], 'page')} had to be read from disk",
    "no_cause": lambda why: (
        "neither CPU time nor the run queue explains it: it slept, or waited for a file or another process"
    ),
}
