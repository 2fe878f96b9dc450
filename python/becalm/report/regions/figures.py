"""Plots of timed regions as SVG: how frequent each length is, and how rare long ones are."""

from __future__ import annotations

from becalm.report.drawing import AFTER, ALARM, FAINT, INK, Margins, figure, plain_ticks, svg
from becalm.results.regions import RegionReport, RegionSummary
from becalm.wording.regions import fine

ROOM = Margins(left=0.8, right=0.2, bottom=0.5, top=0.1, between=0.95)
"""The margins, with room for counts of seven digits, and shares of one in ten million."""

UNITS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
"""The units of lengths; the first in which the longest length has at most four digits is used."""


def lengths(summary: RegionSummary, report: RegionReport) -> str:
    """Return a histogram of lengths, and next to it their survival function down to the rarest length."""
    histogram = summary.histogram
    unit, name = next((unit for unit in UNITS if histogram.high < 1e4 * unit[0]), UNITS[-1])
    with figure(2.7, 2, margins=ROOM) as (picture, (left, right)):
        step = (histogram.high - histogram.low) / len(histogram.counts) or 1.0
        edges = [(histogram.low + index * step) / unit for index in range(len(histogram.counts) + 1)]
        # A single shape: separate bars take three times as long to draw.
        left.stairs(histogram.counts, edges, fill=True, color=AFTER)
        left.axvline(summary.median_ns / unit, color=INK, linewidth=1)
        if report.timer is not None:
            # The range in which lengths may differ without a difference that the timer could show.
            low = summary.median_ns - report.timer.t_diff_ns / 2
            left.axvspan(low / unit, (low + report.timer.t_diff_ns) / unit, color=FAINT, zorder=0)
        left.locator_params(nbins=5)
        left.ticklabel_format(axis="x", style="plain", useOffset=False)
        left.yaxis.set_major_formatter(lambda count, _: f"{count / 1e6:g} M" if count >= 1e6 else f"{count:,.0f}")
        left.set_xlabel(f"length, {name}")
        left.set_ylabel("regions")
        values, shares = zip(*summary.survival, strict=True)
        lengths_ns = [max(value, 0.1) for value in values]
        # Between two lengths, the share is that of the longer one.
        right.step(lengths_ns, shares, where="pre", color=AFTER, linewidth=1.5)
        right.plot([lengths_ns[-1]], [shares[-1]], "o", color=AFTER, markersize=3)
        if summary.outliers:
            right.axvline(summary.outlier_from_ns, color=ALARM, linewidth=1, linestyle="--")
        right.set_xscale("log")
        right.set_yscale("log")
        plain_ticks(right.xaxis, right.get_xlim(), most=4, form=lambda ns, _: _short(ns))
        plain_ticks(right.yaxis, right.get_ylim(), most=5, form=lambda share, _: f"{100 * share:.3g} %")
        right.set_xlabel("length")
        right.set_ylabel("share at least as long")
        right.grid(True, color=FAINT, linewidth=0.6)
        description = (
            f"{summary.name}: median {fine(summary.median_ns)}, from {fine(summary.min_ns)} to {fine(summary.max_ns)}"
        )
        return svg(picture, f"regions {summary.name}", description)


def _short(ns: float) -> str:
    """Return a round number as a tick of the logarithmic axis."""
    unit, name = next((unit for unit in UNITS if ns < 999.5 * unit[0]), UNITS[-1])
    return f"{ns / unit:.3g} {name}"
