"""The source of a program's scatter: the processor itself, the program, or waiting.

Settings of the operating system help mainly against waiting, so users should know the source before or after a search
for settings. A diagnosis is tested: `against_settings` adds whether settings helped in spite of a diagnosis that they
cannot help.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from becalm.nouns.finding import Finding
from becalm.results.tune import ArmComparison
from becalm.stats.arrays import dot, series
from becalm.stats.describe import describe
from becalm.stats.spread import spread
from becalm.wording.findings import finding

MOSTLY = 0.5
"""The share of the variance above which it is "most of the scatter"."""

FEWEST = 20
"""The fewest runs for a diagnosis, as in `becalm.analysis.noise_floor`."""


def classify(
    wall_ns: Sequence[npt.ArrayLike],
    cpu_ns: Sequence[npt.ArrayLike],
    floor: float,
    program: str,
    *,
    confidence: float = 0.95,
) -> Finding | None:
    """Return the finding on the source of a program's scatter: waiting, the processor's own speed, or the program
    itself.

    `wall_ns`, `cpu_ns`: one array for each loop, shape (runs,), of runs without settings; CPU time is user plus system.
    `floor`: spread of the built-in kernel of pure additions on the same machine, as a fraction, estimated in the same
    way (`stats.spread.spread`). The share of the variance within loops that goes with CPU time is the squared
    correlation, with Fisher's (1921, Metron 1:3) interval:

    - "processor": most of the variance goes with CPU time, and additions scatter at least half as much as the program,
      so the processor's speed varies whatever the operating system does
    - "program": most of it goes with CPU time, and additions are steady: caches, memory or the program itself
    - "waiting": less than half of it does

    None where that is undecided, CPU time is unknown (nan), or there are fewer than 20 runs. Raises ValueError for
    arrays that do not fit together.
    """
    wall = [series(loop, "The wall times of a loop") for loop in wall_ns]
    cpu = [np.asarray(loop, dtype=np.float64) for loop in cpu_ns]
    if [len(loop) for loop in wall] != [len(loop) for loop in cpu]:
        raise ValueError("Every run needs a wall time and a CPU time; the loops differ in length.")
    usable = [(w, c) for w, c in zip(wall, cpu, strict=True) if len(w) >= 2]
    count = sum(len(w) for w, _ in usable)
    if count < FEWEST or np.isnan(np.concatenate([c for _, c in usable])).any():
        return None
    x = np.concatenate([w / w.mean() - 1 for w, _ in usable])
    y = np.concatenate([c / w.mean() - c.mean() / w.mean() for w, c in usable])
    product = math.sqrt(dot(x, x) * dot(y, y))
    r = dot(x, y) / product if product else 0.0
    half_width = float(ndtri((1 + confidence) / 2)) / math.sqrt(max(1, count - len(usable) - 2))
    z = math.atanh(min(max(r, 0.0), 1 - 1e-12))
    low, high = (max(0.0, math.tanh(end)) ** 2 for end in (z - half_width, z + half_width))
    program_spread = spread([w for w, _ in usable])[0]
    all_wall = np.concatenate([w for w, _ in usable])
    runs = describe(all_wall, confidence).runs_for(0.01)
    if high < MOSTLY:
        kind = "waiting"
    elif low > MOSTLY:
        kind = "processor" if floor >= MOSTLY * program_spread else "program"
    else:
        return None
    numbers = {
        "cpu_share": max(r, 0.0) ** 2,
        "cpu_share_low": low,
        "cpu_share_high": high,
        "spread": program_spread,
        "floor": floor,
        "runs": count,
        "runs_for_one_percent": runs,
    }
    untested = dict.fromkeys(("helped", "reduction", "reduction_low", "at_most")) if kind == "processor" else {}
    return finding(kind, {**numbers, **untested}, program)


def against_settings(diagnosis: Finding, comparisons: Sequence[ArmComparison]) -> Finding:
    """Return a finding "processor" with the effect of settings on fresh runs: by this diagnosis none helps much.

    `helped`: the arm that reduced the spread of the program most, and significantly, with its `reduction`; else
    `at_most`: the largest reduction within the interval of any arm. The finding has neither where nothing was measured.
    Other findings are returned unchanged.
    """
    program_comparisons = [comparison for comparison in comparisons if comparison.program == diagnosis.program]
    if diagnosis.kind != "processor" or not program_comparisons:
        return diagnosis
    helpful = [comparison for comparison in program_comparisons if comparison.ratio.low > 1]
    numbers: dict[str, object]
    if helpful:
        best = max(helpful, key=lambda comparison: comparison.ratio.value)
        numbers = {"helped": best.arm, "reduction": best.ratio.value, "reduction_low": best.ratio.low}
    else:
        numbers = {"at_most": max(comparison.ratio.high for comparison in program_comparisons)}
    return finding(diagnosis.kind, {**diagnosis.numbers, **numbers}, diagnosis.program)
