"""The error rate of the interval over several hosts, next to better known formulas. Simulated, so the truth is known.

    python bench/hosts.py                                              # 2000 studies of each kind, under a minute
    python bench/hosts.py --studies 10000 --document docs/explanation/statistics.md    # its table

Each study has k hosts. The true difference of a host is normal, or Student's t with 3 degrees of freedom, about the
mean over hosts; its standard deviation is given in mean standard errors. Each host is measured with an error of its
own, some three times as precisely as others, and its standard error is itself known from only 30 pairs.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from becalm.stats.random_effects import combine
from fill import put

Floats = npt.NDArray[np.float64]
HOSTS = (2, 3, 4, 6, 10, 20)
BETWEEN = (0.0, 0.5, 1.0, 3.0)
PAIRS = 30
ALPHA = 0.05


def dersimonian_laird(y: Floats, s: Floats) -> tuple[float, float, float]:
    """Estimate, variance and tau^2 of DerSimonian & Laird (1986, Control. Clin. Trials 7:177)."""
    w = 1 / s**2
    mean = float(w @ y / w.sum())
    q, degrees = float(w @ (y - mean) ** 2), len(y) - 1
    tau_square = max(0.0, (q - degrees) / float(w.sum() - (w**2).sum() / w.sum()))
    w = 1 / (s**2 + tau_square)
    return float(w @ y / w.sum()), 1 / float(w.sum()), tau_square


def study(rng: np.random.Generator, k: int, between: float, tails: bool) -> tuple[Floats, Floats, float]:
    """Estimate and standard error of each host about a mean of zero, and the estimate of one more host."""
    errors = np.exp(rng.uniform(-math.log(3) / 2, math.log(3) / 2, k + 1))
    drawn = rng.standard_t(3, k + 1) / math.sqrt(3) if tails else rng.standard_normal(k + 1)
    estimates = between * drawn + errors * rng.standard_normal(k + 1)
    known = errors[:k] * np.sqrt(rng.chisquare(PAIRS - 1, k) / (PAIRS - 1))
    return estimates[:k], known, float(estimates[k])


def rates(k: int, between: float, tails: bool, studies: int, seed: int) -> dict[str, float]:
    """Return the shares of studies in which the intervals miss the truth."""
    rng = np.random.default_rng([seed, k, round(10 * between), tails])
    z = float(ndtri(1 - ALPHA / 2))
    missed = {"ours": 0, "next": 0, "laird": 0, "fixed": 0, "student": 0}
    for _ in range(studies):
        y, s, further = study(rng, k, between, tails)
        combined = combine(y, s, ALPHA)
        missed["ours"] += not combined.low <= 0.0 <= combined.high
        missed["next"] += not combined.next_low <= further <= combined.next_high
        mean, variance, _ = dersimonian_laird(y, s)
        missed["laird"] += abs(mean) > z * math.sqrt(variance)
        w = 1 / s**2
        missed["fixed"] += abs(float(w @ y / w.sum())) > z / math.sqrt(float(w.sum()))
        plain = float(stdtrit(k - 1, 1 - ALPHA / 2)) * float(y.std(ddof=1)) / math.sqrt(k)
        missed["student"] += abs(float(y.mean())) > plain
    return {name: count / studies for name, count in missed.items()}


def table(studies: int, seed: int) -> str:
    """Return the table as Markdown."""
    lines = [
        "| hosts | between hosts | missed by becalm | a further host missed | DerSimonian and Laird | no difference "
        "between hosts assumed | t of the plain mean |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    kinds = [(k, between, False) for k in HOSTS for between in BETWEEN] + [(k, 3.0, True) for k in (4, 20)]
    for k, between, tails in kinds:
        shares = rates(k, between, tails, studies, seed)
        shown = " | ".join(f"{100 * shares[name]:.1f} %" for name in ("ours", "next", "laird", "fixed", "student"))
        lines.append(f"| {k} | {between:g}{', Student t, 3 df' if tails else ''} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    text = table(50 if chosen.quick else chosen.studies, chosen.seed)
    print(text)
    if chosen.document is not None:
        put(chosen.document, "hosts", text)


if __name__ == "__main__":
    main()
