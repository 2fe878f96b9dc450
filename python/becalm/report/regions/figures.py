"""Pictures of timed regions as SVG: how often each length is, and how rare the long ones are."""

from __future__ import annotations

from becalm.nouns.regions import RegionReport, RegionSummary
from becalm.report.drawing import AFTER, ALARM, FAINT, INK, figure, plain_ticks, svg
from becalm.wording.regions import fine


def lengths(each: RegionSummary, found: RegionReport) -> str:
    """A histogram that ends where what it counts ends, and beside it the survival function down to the rarest."""
    drawn = each.histogram
    with figure(2.7, 2) as (made, (left, right)):
        step = (drawn.high - drawn.low) / len(drawn.counts)
        edges = [drawn.low + index * step for index in range(len(drawn.counts))]
        left.bar(edges, drawn.counts, width=step or 1.0, align="edge", color=AFTER)
        left.axvline(each.median_ns, color=INK, linewidth=1)
        if found.timer is not None:
            # How far lengths may differ without any difference that the timer could show.
            low = each.median_ns - found.timer.t_diff_ns / 2
            left.axvspan(low, low + found.timer.t_diff_ns, color=FAINT, zorder=0)
        left.set_xlabel("length, ns")
        left.set_ylabel("regions")
        values, shares = zip(*each.survival, strict=True)
        shown = [max(value, 0.1) for value in values]
        # Between two lengths the share is that of the longer one.
        right.step(shown, shares, where="pre", color=AFTER, linewidth=1.5)
        right.plot([shown[-1]], [shares[-1]], "o", color=AFTER, markersize=3)
        if each.outliers:
            right.axvline(each.outlier_from_ns, color=ALARM, linewidth=1, linestyle="--")
        right.set_xscale("log")
        right.set_yscale("log")
        plain_ticks(right.xaxis, right.get_xlim(), most=4, form=lambda ns, _: fine(ns))
        plain_ticks(right.yaxis, right.get_ylim(), most=8, form=lambda share, _: f"{100 * share:.3g} %")
        right.set_xlabel("length")
        right.set_ylabel("share at least as long")
        right.grid(True, color=FAINT, linewidth=0.6)
        told = f"{each.name}: median {fine(each.median_ns)}, from {fine(each.min_ns)} to {fine(each.max_ns)}"
        return svg(made, f"regions {each.name}", told)
