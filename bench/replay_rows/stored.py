"""Results of two times: three old sessions and one new of a suite, and two files alone.

Each build of CPython's main branch is compared with the three before it, all benchmarks together at 95 %. What is
claimed of a benchmark is false where the three builds after the new one do not keep at least half of it: then the
session strayed, not the code. The second table has pairs of successive builds, each pair by itself at a level of 5 %,
where the medians of three builds before and after differ by less than 2 %.

https://github.com/faster-cpython/benchmarking-public (fork yuqiw4 at bad3144), pyperf results of linux-x86_64:

    DIR/cpython-history/summary.csv.gz          date, commit, flags_dir, benchmark, n, median, mean, sd, min
    DIR/cpython-history/values/BENCHMARK.json.gz    [{"result": "bm-…", "date": "20211005", "runs": [[0.29, …], …]}, …]
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

from becalm.stats.arrays import Floats
from becalm.stats.moderation import moderate, prior_of
from becalm.stats.sessions import over_sessions
from becalm.stats.student import stdtrit
from becalm.stats.suite_spread import SuiteSpread, suite_spread
from becalm.stats.unpaired import UnpairedEstimate, unpaired
from replay_rows.cpython_sessions import SOURCE, Sessions, sessions, values
from replay_rows.figures import Figure, Table, halves, plain, share

OLD, AFTER, LEVEL, QUIET = 3, 3, 0.05, 0.02
MEASURES = ("comparisons with a false claim", "false claims", "claims that last", "half width: median", "90 %")

Halves = Callable[[Floats, Floats, float], Floats]
"""Half the width of each benchmark's interval in logarithms: of old sessions (benchmarks, OLD), new ones, a level."""


def by_suite(old: Floats, new: Floats, alpha: float) -> Floats:
    """Return what `becalm compare --stored` gives."""
    groups = [(row, np.array([value])) for row, value in zip(old, new, strict=True)]
    return _estimates(groups, alpha, suite_spread(groups))


def alone(old: Floats, new: Floats, alpha: float) -> Floats:
    """Return the prediction of Student's t for each benchmark by itself."""
    return _estimates([(row, np.array([value])) for row, value in zip(old, new, strict=True)], alpha, None)


def normal_tails(old: Floats, new: Floats, alpha: float) -> Floats:
    """Return intervals of variances moderated over the suite, with the tails that this theory has (Smyth 2004)."""
    count = old.shape[1]
    variances = old.var(axis=1, ddof=1)
    prior = prior_of(list(variances[variances > 0]), [count - 1] * int((variances > 0).sum()))
    pairs = [moderate(float(variance), count - 1, prior) for variance in variances]
    return np.array([stdtrit(df, 1 - alpha / 2) * math.sqrt(variance * (1 + 1 / count)) for variance, df in pairs])


def _estimates(groups: Sequence[tuple[Floats, Floats]], alpha: float, suite: SuiteSpread | None) -> Floats:
    estimates = [over_sessions(list(old[:, None]), list(new[:, None]), alpha, suite) for old, new in groups]
    return np.array([(estimate.high - estimate.low) / 2 for estimate in estimates])


def replay(data: Path, quick: bool) -> list[Table]:
    """Return the comparisons of a suite on each half and all of it, and those of two files."""
    history = sessions(data)
    parts = halves(history.names)
    rows = [(f"becalm, {part}", _suite(history, names, by_suite, quick)) for part, names in parts.items()]
    others = (("Student's t of sessions, each by itself", alone), ("variances moderated, normal tails", normal_tails))
    rows += [(f"{name}, all", _suite(history, parts["all"], rule, quick)) for name, rule in others]
    many = f"{len(history.names)} benchmarks, {OLD} old sessions and 1 new, all together at 95 %"
    return [Table(many, SOURCE, MEASURES, tuple(rows)), _pairs(data, quick)]


def _suite(history: Sessions, names: list[str], rule: Halves, quick: bool) -> tuple[Figure, ...]:
    medians = history.rows(names)
    comparisons = strayed = false = lasting = total = 0
    reach: list[float] = []
    for new in range(OLD, min(medians.shape[1] - 1, OLD + 5 if quick else 10**9)):
        there = np.isfinite(medians[:, new - OLD : new + 1]).all(axis=1)
        after = np.isfinite(medians[:, new + 1 : new + 1 + AFTER]).any(axis=1)
        part = medians[there & after]
        if len(part) < 10:
            continue
        old, now = part[:, new - OLD : new], part[:, new]
        half = rule(old, now, LEVEL / len(part))
        change = now - old.mean(axis=1)
        later = np.nanmedian(part[:, new + 1 : new + 1 + AFTER], axis=1) - old.mean(axis=1)
        claim = np.abs(change) > half
        wrong = claim & (later * np.sign(change) < np.abs(change) / 2)
        comparisons, strayed, total = comparisons + 1, strayed + int(wrong.any()), total + len(part)
        false, lasting = false + int(wrong.sum()), lasting + int((claim & ~wrong).sum())
        reach += list(np.expm1(np.minimum(half, 50)))
    median, high = np.quantile(reach, [0.5, 0.9])
    return (
        share(strayed, comparisons),
        share(false, total),
        plain(lasting, str(lasting)),
        plain(median, f"{100 * median:.1f} %"),
        plain(high, f"{100 * high:.0f} %"),
    )


def _pairs(data: Path, quick: bool) -> Table:
    rules: dict[str, Callable[[Floats, Floats], bool]] = {
        "becalm, the runs alone (marked ?)": lambda benchmark, other: _excludes(
            unpaired(np.log(benchmark), np.log(other), LEVEL)
        ),
        "Welch's t": lambda benchmark, other: bool(ttest_ind(benchmark, other, equal_var=False).pvalue < LEVEL),
        "pyperf (Student's t)": lambda benchmark, other: bool(ttest_ind(benchmark, other).pvalue < LEVEL),
        "Mann–Whitney (benchstat)": lambda benchmark, other: bool(mannwhitneyu(benchmark, other).pvalue < LEVEL),
    }
    called = dict.fromkeys(rules, 0)
    total = 0
    for builds in values(data).values():
        level = np.array([np.log(np.median(build)) for build in builds])
        for new in range(AFTER, min(len(builds) - AFTER + 1, AFTER + 3 if quick else 10**9)):
            if abs(np.median(level[new : new + AFTER]) - np.median(level[new - AFTER : new])) < QUIET:
                total += 1
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for name, rule in rules.items():
                        called[name] += rule(builds[new - 1], builds[new])
    rows = tuple((name, (share(count, total),)) for name, count in called.items())
    return Table("Two files: quiet pairs of successive builds", SOURCE, ("called different",), rows)


def _excludes(interval: UnpairedEstimate) -> bool:
    return not interval.low <= 0 <= interval.high
