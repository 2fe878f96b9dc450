"""How many values are at least so large: the picture of a long tail."""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats

MOST = 200


def survival(ordered: Floats, most: int = MOST) -> tuple[tuple[float, float], ...]:
    """Values and the share of all that are at least as large, of values in rising order.

    Begins with the smallest (share 1) and ends with the largest; of more than `most` distinct ones, those stay whose
    shares lie about equally far apart on a logarithmic axis. Between two of them the share is that of the larger one.
    Raises ValueError for none.
    """
    many = len(ordered)
    if many == 0:
        raise ValueError("A survival function needs at least one value.")
    # Where each distinct value begins: so many values are smaller.
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(first) > most:
        shares = np.minimum(many, np.exp(np.linspace(np.log(many), 0.0, most)))
        wanted = np.searchsorted(first, many - shares, side="right") - 1
        first = first[np.unique(np.concatenate(([0], wanted, [len(first) - 1])))]
    return tuple(zip(ordered[first].tolist(), ((many - first) / many).tolist(), strict=True))
