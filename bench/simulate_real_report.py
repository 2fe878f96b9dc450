"""The tables of `bench/simulate_real.py`, and whether its goals are met."""

from __future__ import annotations

import math
from collections.abc import Sequence

from campaign import Record, describe, table
from simulate_real_settings import OPTIMUM, PUBLISHED, SETTINGS, SETTINGS_HOST

WANTED_MISS, WANTED_RANK, WANTED_KEPT = 0.1, 0.6, 0.5


def spearman(first: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Rank correlation and its 95 % interval."""
    from scipy import stats

    value = float(stats.spearmanr(first, other).statistic)
    error = math.sqrt(1.06 / (len(first) - 3))
    center = math.atanh(max(-0.999999, min(0.999999, value)))
    return value, math.tanh(center - 1.96 * error), math.tanh(center + 1.96 * error)


def ranks(result: Record) -> tuple[float, float, float] | None:
    """Return the rank correlation over the 15 settings, without the defaults and the model's optimum."""
    rows = [row for row in result["settings"] if row["setting"] in SETTINGS and row["measured"] is not None]
    if len(rows) < 5:
        return None
    return spearman([row["measured"] for row in rows], [row["simulated"] for row in rows])


def report(result: Record) -> str:
    """Format the sizes of each host, the settings, and the gain of the model's optimum as Markdown."""
    parts = [f"Machine: {describe(result['machine'])}."]
    for host in result["hosts"]:
        rows = [
            [
                f"{size['groups']}{' fitted' if size['fitted'] else ''}", size["policy"],
                f"{size['measured_ns'] / 1e9:.3f} ± {size['error_ns'] / 1e9:.3f}", f"{size['simulated_ns'] / 1e9:.3f}",
                f"{100 * size['residual']:+.1f} %",
            ]
            for size in host["sizes"]
        ]  # fmt: skip
        rows += [[str(groups), "other", "not reached", "", ""] for groups in host["not_reached"]]
        fit = "" if host["r_squared"] is None else f", R² {host['r_squared']:.4f} of {host['possible']:.4f} possible"
        alongside = load(result, "sizes", host["host"])
        parts += [f"{host['host']} as `{host['simulator']}`, {host['loops']} messages a pair{alongside}{fit}:"]
        parts += [table(["Groups", "Policy", "Measured, s", "Simulated, s", "Difference"], rows)]
    if result["settings"]:
        reached = sorted((row for row in result["settings"] if row["measured"]), key=lambda row: row["measured"])
        rows = [
            [row["setting"], f"{row['measured']:.3f} ± {row['error']:.3f}", f"{row['simulated']:.3f}", str(row["runs"])]
            for row in reached
        ]
        rows += [
            [row["setting"], "not reached", f"{row['simulated']:.3f}", str(row["runs"])]
            for row in result["settings"] if row["measured"] is None
        ]  # fmt: skip
        alongside = load(result, "settings", SETTINGS_HOST)
        parts += [f"Settings in a 6.1 guest, time over that of the defaults{alongside}:"]
        parts += [table(["Setting", "Measured", "Simulated", "Runs"], rows)]
    parts += [f"Not reached: {case}" for case in result["failed"]]
    return "\n\n".join(parts)


def load(result: Record, kind: str, host: str) -> str:
    """Describe the load of the machine next to a part: runnable tasks on average, the guest's own among them."""
    loads = [part["load"] for part in result["parts"] if (part["part"], part["host"]) == (kind, host)]
    return f", load {loads[0][0]:.1f} to {loads[0][-1]:.1f}" if loads else ""


def judged(result: Record) -> list[str]:
    """Report for each goal of the project whether it is met."""
    lines = []
    for host in result["hosts"]:
        if host["worst"] is not None:
            met = "met" if host["worst"] <= WANTED_MISS else "not met"
            lines.append(f"{host['host']}: other sizes predicted within {100 * host['worst']:.1f} %, wanted 10: {met}")
    good = next((row for row in result["settings"] if row["setting"] == PUBLISHED), None)
    if good is not None and good["measured"] is not None:
        met = "met" if max(good["measured"], good["simulated"]) < 1 else "not met"
        lines.append(
            f"the published settings take {good['measured']:.2f} of the defaults' time in the guest, "
            f"{good['simulated']:.2f} in the model, wanted less than 1 in both: {met}"
        )
    if (correlations := ranks(result)) is not None:
        value, low, high = correlations
        met = "met" if value >= WANTED_RANK else "not met"
        lines.append(
            f"rank correlation over 15 settings {value:.2f} ({low:.2f} to {high:.2f}), wanted {WANTED_RANK:g}: {met}"
        )
    best = next((row for row in result["settings"] if row["setting"] == OPTIMUM), None)
    if best is not None and best["measured"] is not None:
        there, here = result["optimum"]["gain"], 1 - best["measured"]
        met = "met" if here >= WANTED_KEPT * there else "not met"
        lines.append(
            f"the model's optimum gains {100 * there:.0f} % there, {100 * here:.0f} % in the guest, wanted half: {met}"
        )
    return lines
