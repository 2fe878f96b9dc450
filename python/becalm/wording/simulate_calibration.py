"""Sentences about costs fitted to real runs."""

from __future__ import annotations

from becalm.results.simulate_calibration import DOUBTFUL, Calibration
from becalm.units import join_names
from becalm.wording.numbers import counted, duration

WANTED = 0.1
"""The error within which predictions count as good."""


def not_reached(calibration: Calibration) -> str:
    """Return the sentence about the sizes that the budget was too small for."""
    return (
        f"The budget was over before there were two runs with {join_names(map(str, calibration.not_reached))} groups."
    )


FAILURE = (
    "Do not use these costs. Next: the same on a machine that nothing else uses, with a larger --budget, more --runs "
    "and more --loops."
)


def _misfit(calibration: Calibration) -> str:
    """Return the sentence about the fitted size with the largest error, or about the noise of the runs."""
    worst = max(calibration.fitted, key=lambda size: size.beyond_noise)
    noisiest = max(calibration.fitted, key=lambda size: size.noise)
    if worst.beyond_noise > DOUBTFUL:
        return (
            f"They do not explain what they were fitted to: {counted(worst.groups, 'group')} of tasks of the policy "
            f"{worst.policy} {'are' if worst.groups != 1 else 'is'} off by {100 * worst.residual:+.0f} %."
        )
    return (
        f"The runs that they were fitted to are noisy: those of {counted(noisiest.groups, 'group')} have a standard "
        f"error of {100 * noisiest.noise:.0f} %."
    )


def sentence(calibration: Calibration) -> str:
    """Return the sentences about the fitted costs and how far their predictions may be trusted."""
    costs = calibration.costs
    fitted = (
        f"As on {calibration.host}, a message takes {duration(costs.message_ns)} to write and as long to "
        "read, waking a task "
        f"{duration(costs.wakeup_ns)}, a switch {duration(costs.switch_ns)}."
    )
    if calibration.outcome == "failed":
        return f"{fitted} {_misfit(calibration)} {FAILURE}"
    if calibration.outcome == "doubtful":
        fitted = f"{fitted} {_misfit(calibration)} Compare settings in the model, and do not read times off it."
    if calibration.worst is None and calibration.not_reached:
        return f"{fitted} {not_reached(calibration)}"
    if calibration.worst is None:
        return f"{fitted} How well that predicts other sizes was not tried: --validate {calibration.host}."
    sizes = len(calibration.predicted)
    missed = f" {not_reached(calibration)}" if calibration.not_reached else ""
    if calibration.worst <= WANTED:
        return (
            f"{fitted} The {sizes} sizes that were not fitted are predicted within "
            f"{100 * calibration.worst:.1f} %.{missed}"
        )
    return (
        f"{fitted} Of the {sizes} sizes that were not fitted the worst is off by "
        f"{100 * calibration.worst:.0f} %: compare "
        f"settings in the model, and do not read times off it.{missed}"
    )
