"""Where a program's scatter comes from: the processor itself, the program, or waiting. Pure: arrays in, a Finding out.

Settings of the operating system help against waiting above all, so a person should know before or after a search for
them. What a diagnosis forbids is tested: `against_settings` says whether settings helped where none should have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from becalm.nouns.finding import Finding
from becalm.results.tune import ArmComparison
from becalm.stats.arrays import series
from becalm.stats.describe import describe
from becalm.stats.spread import spread
from becalm.wording.findings import finding

MOSTLY = 0.5
"""Share of the variance from which on "most of the scatter" is said."""

FEWEST = 20
"""Runs below which nothing is said about where scatter comes from, as in `becalm.analysis.noise_floor`."""


def classify(
    wall_ns: Sequence[npt.ArrayLike],
    cpu_ns: Sequence[npt.ArrayLike],
    floor: float,
    program: str,
    *,
    confidence: float = 0.95,
) -> Finding | None:
    """Where a program's scatter comes from: waiting, the processor's own speed, or the program itself.

    `wall_ns`, `cpu_ns`: one array a loop, of untouched runs; CPU time is user plus system. `floor`: spread of the
    built-in kernel of pure additions on the same machine, taken alike (`stats.spread.spread`), a fraction. The share
    of the variance within loops that goes with CPU time is the squared correlation, with Fisher's (1921, Metron 1:3)
    interval. "processor": most of it goes with CPU time, and additions scatter at least half as much: the processor's
    speed varies, whatever the operating system does. "program": most of it, and additions are steady: caches, memory
    or the program itself. "waiting": less than half. None where that is undecided, CPU time is unknown (nan), or
    there are less than 20 runs. Raises ValueError for arrays that do not fit together.
    """
    wall = [series(loop, "The wall times of a loop") for loop in wall_ns]
    cpu = [np.asarray(loop, dtype=np.float64) for loop in cpu_ns]
    if [len(loop) for loop in wall] != [len(loop) for loop in cpu]:
        raise ValueError("Every run needs a wall time and a CPU time; the loops differ in length.")
    good = [(w, c) for w, c in zip(wall, cpu, strict=True) if len(w) >= 2]
    count = sum(len(w) for w, _ in good)
    if count < FEWEST or np.isnan(np.concatenate([c for _, c in good])).any():
        return None
    x = np.concatenate([w / w.mean() - 1 for w, _ in good])
    y = np.concatenate([c / w.mean() - c.mean() / w.mean() for w, c in good])
    product = math.sqrt(float(x @ x) * float(y @ y))
    r = float(x @ y) / product if product else 0.0
    reach = float(ndtri((1 + confidence) / 2)) / math.sqrt(max(1, count - len(good) - 2))
    z = math.atanh(min(max(r, 0.0), 1 - 1e-12))
    low, high = (max(0.0, math.tanh(end)) ** 2 for end in (z - reach, z + reach))
    here = spread([w for w, _ in good])[0]
    every = np.concatenate([w for w, _ in good])
    runs = describe(every, confidence).runs_for(0.01)
    if high < MOSTLY:
        kind = "waiting"
    elif low > MOSTLY:
        kind = "processor" if floor >= MOSTLY * here else "program"
    else:
        return None
    numbers = {
        "cpu_share": max(r, 0.0) ** 2,
        "cpu_share_low": low,
        "cpu_share_high": high,
        "spread": here,
        "floor": floor,
        "runs": count,
        "runs_for_one_percent": runs,
    }
    untested = dict.fromkeys(("helped", "reduction", "reduction_low", "at_most")) if kind == "processor" else {}
    return finding(kind, {**numbers, **untested}, program)


def against_settings(found: Finding, comparisons: Sequence[ArmComparison]) -> Finding:
    """The same, if it is "processor", beside what settings did on fresh runs: it forbids that any of them helps much.

    `helped`: the arm that reduced the spread of the program most, and was shown to, with its `reduction`; else
    `at_most`: the largest reduction that any arm may have, by its interval. Neither where nothing was measured.
    """
    mine = [comparison for comparison in comparisons if comparison.program == found.program]
    if found.kind != "processor" or not mine:
        return found
    shown = [each for each in mine if each.ratio.low > 1]
    numbers: dict[str, object]
    if shown:
        best = max(shown, key=lambda each: each.ratio.value)
        numbers = {"helped": best.arm, "reduction": best.ratio.value, "reduction_low": best.ratio.low}
    else:
        numbers = {"at_most": max(each.ratio.high for each in mine)}
    return finding(found.kind, {**found.numbers, **numbers}, found.program)
