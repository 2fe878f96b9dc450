"""Does a survey of thousands of machines name the right ones? Simulation with known truth.

    python bench/survey.py                                             # 20 surveys of each kind, half a minute
    python bench/survey.py --surveys 200 --document docs/explanation/statistics.md     # its table

10,000 machines of 20 kinds, from 130 to 2900 of a kind. A run takes the kind's time, times that of its machine
(standard deviation 0.5 %, or none in "identical"), times noise of 2 %: normal, autocorrelated, or bursts; the spread of
a machine has a natural standard deviation of 15 % (none in "identical", 60 % in "noise differs wildly"). Then 1 % of
the machines is slower by 3 %, and another 1 % twice as noisy. 10 loops of 10 runs.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from becalm.analysis.survey import UNLIKE
from becalm.stats.multiplicity import benjamini_hochberg
from becalm.stats.peers import loop_estimates, loop_memory, peers, trimmed_loops
from fill import put

Floats = npt.NDArray[np.float64]
MACHINES, KINDS = 10_000, 20
LOOPS, RUNS = 10, 10
NATURAL, WILD = 0.15, 0.6
NOISE = 0.02
SLOWER, NOISIER, SHARE = 0.03, 2.0, 0.01
RATE = 0.05
NOISES = ("normal", "autoregression 0.8", "bursts")


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of one question (slower, noisier) in one survey: machines named, rightly named, and those to be
    named."""

    named: int
    right: int
    true: int

    @property
    def false_share(self) -> float:
        """Share of the named that should not have been; 0 when none was named."""
        return (self.named - self.right) / self.named if self.named else 0.0


def kinds(rng: np.random.Generator, machines: int) -> npt.NDArray[np.int64]:
    """Return the kind of each machine; sizes fall off as 1 / rank, the smallest has 6."""
    sizes = np.maximum(6, machines / np.arange(1, KINDS + 1) / (1 / np.arange(1, KINDS + 1)).sum()).astype(int)
    sizes[0] += machines - sizes.sum()
    return rng.permutation(np.repeat(np.arange(KINDS), sizes))


def noise(rng: np.random.Generator, kind: str, machines: int) -> Floats:
    """Draw noise of the logarithm of time, variance about 1, shape (machines, LOOPS, RUNS)."""
    white = rng.standard_normal((machines, LOOPS * RUNS))
    if kind.startswith("autoregression"):
        phi = 0.8
        white = lfilter([math.sqrt(1 - phi * phi)], [1, -phi], white, axis=1)
    if kind == "bursts":
        # One loop in ten sees a neighbour for some of its runs.
        hit = (rng.random((machines, LOOPS)) < 0.1).repeat(RUNS, axis=1) & (rng.random(white.shape) < 0.5)
        white = white + np.where(hit, rng.exponential(5.0, white.shape), 0.0)
    return np.asarray(white).reshape(machines, LOOPS, RUNS)


def survey(rng: np.random.Generator, kind: str, *, natural: float, odd: bool) -> tuple[Tally, Tally]:
    """Simulate one survey: return the machines named as slower and as noisier. `natural`: of the spreads; 0 for
    identical machines."""
    group = kinds(rng, MACHINES)
    level = 0.005 * rng.standard_normal(MACHINES) * (natural > 0)
    spread = NOISE * np.exp(natural * rng.standard_normal(MACHINES))
    slow, noisy = (np.zeros(MACHINES, dtype=bool) for _ in range(2))
    if odd:
        chosen = rng.permutation(MACHINES)
        count = round(SHARE * MACHINES)
        slow[chosen[:count]] = noisy[chosen[count : 2 * count]] = True
    level = level + np.log1p(SLOWER) * slow
    spread = spread * np.where(noisy, NOISIER, 1.0)
    times = level[:, None, None] + spread[:, None, None] * noise(rng, kind, MACHINES)
    location, location_error, width, width_error = loop_estimates(times)
    return (
        _tally(group, location, location_error, slow, times, (width, width_error)),
        _tally(group, width, width_error, noisy),
    )


def _tally(
    group: npt.NDArray[np.int64],
    values: Floats,
    errors: Floats,
    truth: npt.NDArray[np.bool_],
    times: Floats | None = None,
    widths: tuple[Floats, Floats] | None = None,
) -> Tally:
    """Count the machines named. `times`, `widths`: of a question about locations, as `becalm.analysis.survey` allows
    for unlike machines."""
    p = np.empty(MACHINES)
    loops = trimmed_loops(LOOPS)
    for kind in range(KINDS):
        members = group == kind
        error, unlike = errors[members], False
        if times is not None and widths is not None:
            unlike = peers(widths[0][members], widths[1][members], loops).between >= UNLIKE
            memory = loop_memory(list(times[members])) if unlike else 0.0
            error = error * math.sqrt((1 + memory) / (1 - memory))
        p[members] = peers(values[members], error, loops, unlike=unlike).p_value
    named = benjamini_hochberg(p) <= RATE
    return Tally(int(named.sum()), int((named & truth).sum()), int(truth.sum()))


def table(surveys: int, seed: int) -> str:
    """Return the table as Markdown."""
    lines = [
        "| machines | noise | question | surveys that name a wrong one | wrongly named of the named | outliers found |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for natural, odd in ((0.0, False), (NATURAL, False), (0.0, True), (NATURAL, True), (WILD, True)):
        for kind in NOISES:
            rng = np.random.default_rng([seed, round(100 * natural), odd, NOISES.index(kind)])
            tallies = [survey(rng, kind, natural=natural, odd=odd) for _ in range(surveys)]
            for question, index in (("slower", 0), ("noisier", 1)):
                mine = [tally[index] for tally in tallies]
                wrong = sum(tally.named > tally.right for tally in mine) / surveys
                false = sum(tally.false_share for tally in mine) / surveys
                power = sum(tally.right for tally in mine) / max(1, sum(tally.true for tally in mine))
                what = {0.0: "identical", NATURAL: "differ by nature", WILD: "noise differs wildly"}[natural]
                what += ", 1 % odd" if odd else ""
                share = f"{100 * power:.1f} %" if odd else ""
                lines.append(f"| {what} | {kind} | {question} | {100 * wrong:.0f} % | {100 * false:.2f} % | {share} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surveys", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    text = table(1 if chosen.quick else chosen.surveys, chosen.seed)
    print(text)
    if chosen.document is not None:
        put(chosen.document, "survey", text)


if __name__ == "__main__":
    main()
