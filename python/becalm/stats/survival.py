"""The survival function of values, for pictures of a long tail."""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats

MOST = 200


def survival(ordered: Floats, most: int = MOST) -> tuple[tuple[float, float], ...]:
    """Return values with the share of all that are at least as large; `ordered` is ascending, shape (n,).

    It begins with the smallest value (share 1) and ends with the largest. If more than `most` are distinct, those
    remain whose shares are about equally far apart on a logarithmic axis. Between two of them the share is that of the
    larger one. Raises ValueError without values.
    """
    count = len(ordered)
    if count == 0:
        raise ValueError("A survival function needs at least one value.")
    # The start of each distinct value, which is the number of smaller ones.
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(first) > most:
        shares = np.minimum(count, np.exp(np.linspace(np.log(count), 0.0, most)))
        selected = np.searchsorted(first, count - shares, side="right") - 1
        first = first[np.unique(np.concatenate(([0], selected, [len(first) - 1])))]
    return tuple(zip(ordered[first].tolist(), ((count - first) / count).tolist(), strict=True))
