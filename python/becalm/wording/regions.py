"""Sentences about timed regions of a program's own code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from becalm.results.compare import Gate
from becalm.results.regions import (
    FilesWanted,
    RegionAnswer,
    RegionComparison,
    RegionDifference,
    RegionReport,
    RegionSummary,
)
from becalm.units import join_names
from becalm.wording.numbers import counted, duration, percent
from becalm.wording.short_names import whole

NAMED = 3
"""The number of names that get a sentence of their own; the table has all."""


def fine(ns: float) -> str:
    """Return a duration, below 10 ns with one decimal."""
    return duration(ns) if abs(ns) >= 10 or ns == round(ns) else f"{ns:.1f} ns"


def with_sentence(report: RegionReport) -> RegionReport:
    """Return the report with its sentence."""
    return replace(report, sentence="\n".join(_sentences(report)))


def _sentences(report: RegionReport) -> Iterator[str]:
    many = len(report.regions) + len(report.untimed)
    what = f"{counted(report.recorded, 'region')} of {counted(many, 'name')}"
    limit = "" if report.timer is None else f"; the timer shows changes of {fine(report.timer.t_diff_ns)} and more"
    yield f"{what} in {whole([report.title])[0]}{limit}."
    names = dict(zip((region.name for region in report.regions), whole([r.name for r in report.regions]), strict=True))
    largest = sorted(report.regions, key=lambda region: region.spread_ns, reverse=True)
    for region in [region for region in largest if region.varies is not False][:NAMED]:
        yield _varying(region, names[region.name])
    for region in report.regions:
        if region.varies is False and region.modes:
            yield f"{names[region.name]} takes {fine(region.median_ns)}.{_modes(region)}"
    still = [names[region.name] for region in report.regions if region.varies is False and not region.modes]
    if still:
        verb = "varies" if len(still) == 1 else "vary"
        yield f"{join_names(still)} {verb} by no more than the timer can show."
    if report.untimed:
        lost = join_names(whole(report.untimed))
        yield f"{lost} cannot be evaluated: none of its regions began and ended on one processor."


def _varying(summary: RegionSummary, name: str) -> str:
    usual = f"{name} takes {fine(summary.median_ns)}"
    if summary.timed == 1:
        return f"{usual}: one region, so nothing is known of its variation."
    span = f"nine in ten within {fine(summary.spread_ns)}"
    beyond = ""
    if summary.outliers:
        beyond = (
            f"; {counted(summary.outliers, 'outlier')} above {fine(summary.outlier_from_ns)}, the longest "
            f"{fine(summary.max_ns)}, {percent(summary.outlier_share)} % of its time"
        )
    return f"{usual}, {span}{beyond}.{_modes(summary)}"


def _modes(summary: RegionSummary) -> str:
    """Return the sentence about the modes of a region's lengths; empty without modes."""
    if not summary.modes:
        return ""
    around = [f"{fine(ns)} ({percent(share)} %)" for ns, share in summary.modes]
    return f" Its lengths have {len(around)} modes: {join_names(around)}."


def drawn(pictures: int, names: int) -> Iterator[str]:
    """Yield the sentence about the names that are plotted, where not all are."""
    if pictures < names:
        yield f"The plots show the {pictures} of {names:,} names that take the most time; the table has all."


def columns(cost_ns: tuple[float, float]) -> tuple[tuple[str, str], ...]:
    """Return the explanations of the table's columns, each with the column's name."""
    return (
        ("spread", "spread: from the 5th to the 95th percentile."),
        ("varies", "varies: whether the spread (5th to 95th percentile) is more than the timer can show."),
        ("outliers", "outliers: far above the median, and no more than one region in a hundred."),
        ("net", "net: the mean without the longest twentieth, less the clock's cost."),
        ("share", "share: part of the net time of all names."),
        (
            "",
            f"All other lengths include the clock's own cost, at least {fine(cost_ns[0])} and mostly "
            f"{fine(cost_ns[1])}.",
        ),
    )


def with_comparison(comparison: RegionComparison) -> RegionComparison:
    """Return the comparison with its sentence."""
    return replace(comparison, sentence="\n".join(_compared(comparison)))


def _compared(comparison: RegionComparison) -> Iterator[str]:
    names = dict(
        zip((d.name for d in comparison.differences), whole([d.name for d in comparison.differences]), strict=True)
    )
    shown = [d for d in comparison.differences if d.answer in (RegionAnswer.SLOWER, RegionAnswer.FASTER)]
    for d in sorted(shown, key=lambda difference: -abs(difference.estimate))[:NAMED]:
        yield _changed(d, names[d.name], comparison)
    if len(shown) > NAMED:
        yield f"{counted(len(shown) - NAMED, 'more name')} changed, too."
    for answer, template in (
        (RegionAnswer.NO_DIFFERENCE_DETECTED, "no difference was seen in {}."),
        (RegionAnswer.UNKNOWN, "there are too few regions, or files that have it, to say anything about {}."),
    ):
        if names_of_answer := [names[d.name] for d in comparison.differences if d.answer is answer]:
            text = template.format(join_names(names_of_answer))
            yield text[0].upper() + text[1:]
    for d in comparison.differences:
        if d.answer is RegionAnswer.NOT_VISIBLE:
            yield _not_visible(d, names[d.name])
    if not comparison.differences:
        yield "The two have no name in common: there is nothing to compare."
    if (wanted := comparison.files_wanted) is not None:
        yield _more_files(wanted, names[wanted.name], (len(comparison.old), len(comparison.new)))
    if comparison.gate is not None and comparison.fail_above is not None:
        yield _limit(comparison)


def _not_visible(d: RegionDifference, name: str) -> str:
    """Return the sentence about a difference of means that is below what the timer can show."""
    return (
        f"The change of {name}, {fine(abs(d.new_ns - d.old_ns))}, is less than the timer can show for such means, "
        f"{fine(d.visible_from_ns or 0.0)}, so it is not visible. Time {d.calls or 1:,} calls as one region."
    )


def _more_files(wanted: FilesWanted, name: str, many: tuple[int, int]) -> str:
    there = counted(many[0], "file") if many[0] == many[1] else f"{many[0]} and {many[1]} files"
    return (
        f"{there} a side are few: the interval of {name} reaches {percent(wanted.half)} % to either side. About "
        f"{wanted.files} files (processes) a side would make that {percent(wanted.precision)} %."
    )


def _changed(d: RegionDifference, name: str, comparison: RegionComparison) -> str:
    half = (d.high - d.low) / 2
    low, high = sorted((abs(d.low), abs(d.high)))
    span = f"{percent(low, half)} to {percent(high, half)} %"
    # One process shows nothing of how processes of the same code differ.
    whose = "" if min(len(comparison.old), len(comparison.new)) > 1 else " between these processes"
    return (
        f"{name} is {percent(abs(d.estimate), half)} % {d.answer}{whose} ({100 * comparison.confidence:g} %: {span}): "
        f"{fine(d.old_ns)} before, {fine(d.new_ns)} now, without the clock's cost."
    )


def _limit(comparison: RegionComparison) -> str:
    limit = f"{percent(comparison.fail_above or 0.0)} %"
    match comparison.gate:
        case Gate.WITHIN:
            return f"Within the limit: no region is slower by more than {limit}."
        case Gate.ABOVE:
            return f"Above the limit of {limit}."
        case _:
            if any(d.calls for d in comparison.differences):
                return f"Undecided whether a region is slower by more than {limit}: time several calls as one region."
            return f"Undecided whether a region is slower by more than {limit}: time more of them, in more files."


def unreadable(path: str, many: int) -> str:
    """Return the sentence about a file without an intact header; `many`: the regions in its intact blocks."""
    there = (
        f"{counted(many, 'region')} in whole blocks are there, but without a header they have neither names nor a unit"
        if many
        else "no whole block of regions is in it"
    )
    return f"{path} cannot be imported: both its headers are missing, damaged or of another version; {there}."


CAUSES = {
    "steal_ns": "the hypervisor took CPU time (steal)",
    "busy_ns": "the processors were busy",
    "irq_ns": "interrupts took CPU time",
    "softirq_ns": "software interrupts took CPU time",
    "interrupts": "more interrupts arrived",
    "switches": "there were more context switches",
    "queue": "more tasks were runnable",
    "major_faults": "pages were read from disk",
    "swap_in_bytes": "memory was swapped in",
    "swap_out_bytes": "memory was swapped out",
    "direct_reclaims": "tasks reclaimed memory",
    "disk_busy_ns": "the disks were busy",
    "net_packets": "more packets passed",
    "loopback_bytes": "more went over loopback",
    "pressure_cpu_ns": "tasks waited for a CPU (pressure)",
    "pressure_io_ns": "tasks waited for I/O (pressure)",
    "pressure_memory_ns": "tasks waited for memory (pressure)",
    "throttled": "the processor throttled itself",
}
"""Columns of a load record that are compared with outliers, and what a higher value of each means."""


def caused(columns: Sequence[str]) -> str:
    """Return words for the columns in which the machine did more."""
    return join_names([CAUSES.get(column, column) for column in columns])
