"""Sentences about costs that were fitted to real runs."""

from __future__ import annotations

from becalm.nouns.calibration import Calibration
from becalm.wording.measurement import duration

WANTED = 0.1
"""A prediction within so much is called good."""


def sentence(found: Calibration) -> str:
    """What was fitted, and how far its predictions may be trusted."""
    costs = found.costs
    fitted = (
        f"As on {found.host}, a message takes {duration(costs.message_ns)} to write and as long to read, waking a task "
        f"{duration(costs.wakeup_ns)}, a switch {duration(costs.switch_ns)}."
    )
    if found.worst is None:
        return f"{fitted} How well that predicts other sizes was not tried: --validate {found.host}."
    sizes = len(found.predicted)
    if found.worst <= WANTED:
        return f"{fitted} The {sizes} sizes that were not fitted are predicted within {100 * found.worst:.1f} %."
    return (
        f"{fitted} Of the {sizes} sizes that were not fitted the worst is off by {100 * found.worst:.0f} %: compare "
        "settings in the model, and do not read times off it."
    )
