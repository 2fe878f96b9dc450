"""The probability that successive sessions lie beyond a line without a change.

A few bad sessions in a row look like a step. If they are all of one kind (a neighbour makes a benchmark slower, never
faster) or stray far, no model with a fixed shape predicts how often that happens. The past does: q is the share of past
values beyond the line, on that side. At least r of n values are beyond it by chance with the probability of a binomial
variable (Wilkinson 1951, Psychological Bulletin 48:156). With three values, one in 100,000 is reached at q = 2 %: no
tail is extrapolated, and nothing is assumed about its shape, only that bad sessions come independently.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.special import betaln, comb, ndtr

from becalm.stats.arrays import Floats
from becalm.stats.contaminated import WIDER, ValueNoise

PEERS = 100.0
"""The number of a series' own values that the values of its peers are worth."""

FAR = 100.0
"""The farthest line that is considered, in standard deviations."""

_NONE = np.zeros(0)


class Residuals(msgspec.Struct, frozen=True):
    """The distances of past values of many series from the levels before them, in standard deviations, sorted."""

    ordered: Floats = msgspec.field(default_factory=lambda: _NONE)

    @classmethod
    def of(cls, parts: Sequence[Floats]) -> Residuals:
        """Return the residuals of each series, any order, shape (n,) each."""
        return cls(np.sort(np.concatenate(parts))) if parts else cls()

    def beyond(self, line: float, sign: float) -> tuple[int, int]:
        """Return the number of residuals at least `line` above (sign 1) or below (sign -1) their level, and of all."""
        count = len(self.ordered)
        if sign > 0:
            return count - int(np.searchsorted(self.ordered, line, side="left")), count
        return int(np.searchsorted(self.ordered, -line, side="right")), count


class TailShare(msgspec.Struct, frozen=True):
    """The share of values beyond a line, and the number of values that it is estimated from."""

    value: float
    known: float

    def in_a_row(self, values: int, missing: int) -> float:
        """Return the probability that of `values` values all but `missing` lie beyond the line."""
        beyond, within = self.value * self.known, (1 - self.value) * self.known
        if min(beyond, within) <= 0:
            return float(beyond > 0)
        counts = np.arange(values - missing, values + 1)
        logs = np.log(comb(values, counts)) + betaln(beyond + counts, within + values - counts) - betaln(beyond, within)
        return min(1.0, float(np.exp(logs).sum()))


def model_share(line: float, noise: ValueNoise) -> float:
    """Return the one-sided share of values beyond a line, in standard deviations, of the contaminated normal model.

    It is never 0: where it is too small for a float, it is the smallest positive one.
    """
    share = (1 - noise.stray) * float(ndtr(-line)) + noise.stray * float(ndtr(-line / WIDER))
    return max(share, sys.float_info.min)


def share_beyond(line: float, sign: float, own: Floats, peers: Residuals, noise: ValueNoise) -> TailShare:
    """Return the share q of values that lie beyond a line on this side of their level without a step.

    The share of the series is moderated by the share of all series, and this one by the contaminated normal model.

    Arguments:
        line: in standard deviations of usual values, at least 0.
        own: residuals of the series in the same unit.
    """
    model = model_share(line, noise)
    beyond, count = peers.beyond(line, sign)
    peer_share = (beyond + PEERS * model) / (count + PEERS)
    own_beyond = int((sign * own >= line).sum())
    return TailShare((own_beyond + PEERS * peer_share) / (len(own) + PEERS), len(own) + PEERS)


def line_of_chance(
    chance: float, values: int, missing: int, sign: float, own: Floats, peers: Residuals, noise: ValueNoise
) -> float:
    """Return the line, in standard deviations, beyond which all but `missing` of `values` values lie with a probability
    of `chance`."""
    low, high = 0.0, FAR
    while high - low > FAR / 2**14:
        line = (low + high) / 2
        if share_beyond(line, sign, own, peers, noise).in_a_row(values, missing) > chance:
            low = line
        else:
            high = line
    return high
