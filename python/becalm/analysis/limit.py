"""Whether a limit on slowdowns is kept, and how long to measure until that is decided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from becalm.analysis.compare import ESTIMATED, LOOK_GROWTH
from becalm.nouns.metric import Better
from becalm.results.compare import Difference, Gate
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.power import last_critical, least_pairs, pairs_for


def gate(differences: Sequence[Difference], fail_above: float | None) -> Gate | None:
    """Return the state of a limit: above it when one slowdown surely is, within it when all surely are; None without
    one."""
    if fail_above is None:
        return None
    ends = [d.harm[1:] for d in differences]
    if any(low > fail_above for low, _ in ends):
        return Gate.ABOVE
    return Gate.WITHIN if ends and all(high <= fail_above for _, high in ends) else Gate.UNDECIDED


def decides_ns(differences: Sequence[Difference], fail_above: float, elapsed_ns: int) -> int | None:
    """Return the total measuring time in ns after which a limit is decided with a probability of 80 %.

    The prediction assumes that programs differ as estimated; a slowdown nearer to the limit than a standard error is
    taken to be one away. It reaches at least to the next look, and to the fewest pairs that an interval needs. None
    when a difference is not known well enough, as from fewer than ESTIMATED pairs.
    """
    factor = 1.0
    for d in differences:
        if d.harm[1] > fail_above or d.harm[2] <= fail_above:
            continue
        if d.weak or d.pairs < ESTIMATED or not (math.isfinite(d.standard_error) and d.standard_error > 0):
            return None
        limit = fail_above if d.better is Better.LOWER else -min(fail_above, 1 - 1e-9)
        distance = max(abs(math.log1p(d.estimate) - math.log1p(limit)), d.standard_error)
        alpha = simultaneous_alpha(1 - d.confidence, len(differences))
        critical = last_critical(alpha)
        needed = max(pairs_for(distance, d.standard_error, d.pairs, critical), least_pairs(critical))
        factor = max(factor, LOOK_GROWTH, needed / d.pairs)
    return math.ceil(factor * elapsed_ns)
