"""The report of a calibration."""

import io

import pytest
from rich.console import Console

from becalm.report.simulate import calibration_on_terminal
from becalm.results.simulate_calibration import USUAL, Calibration, Size
from becalm.wording.simulate_calibration import sentence


def calibration(residual, noise, groups=6):
    """Return two fitted sizes: one as simulated, the other off by a part of its time; errors of the measured means."""
    sizes = (Size(2, 1e9, noise * 1e9, 1e9, True), Size(groups, 3e9, noise * 3e9, (1 + residual) * 3e9, True))
    return Calibration("local", "sim:cfs?switch_ns=7", 100, USUAL, sizes, None, None)


@pytest.mark.parametrize(
    ("residual", "noise", "outcome", "code"),
    [
        (0.02, 0.01, "fits", 0),
        (-0.14, 0.11, "fits", 0),
        (0.15, 0.01, "doubtful", 0),
        (0.02, 0.2, "doubtful", 0),
        (1.428, 0.05, "failed", 5),
        (-0.404, 0.05, "failed", 5),
        (0.0, 1.51, "failed", 5),
    ],
)
def test_residuals_and_noise_of_the_fitted_sizes_judge_the_costs(residual, noise, outcome, code):
    fitted = calibration(residual, noise)
    assert (fitted.outcome, fitted.exit_code) == (outcome, code)
    assert fitted.to_json()["outcome"] == outcome


def drawn(fitted):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(calibration_on_terminal(fitted))
    return console.export_text()


def test_costs_that_failed_are_not_offered():
    failed = calibration(1.428, 0.05)
    assert "6 groups of tasks of the policy other are off by +143 %. Do not use these costs." in sentence(failed)
    assert "Use it" not in drawn(failed)
    assert "Use it: becalm simulate --host 'sim:cfs?switch_ns=7'" in drawn(calibration(0.02, 0.01))
    assert "have a standard error of 151 %" in sentence(calibration(0.0, 1.51))
    assert "do not read times off it" in sentence(calibration(0.15, 0.01))
