"""Noise whose origin is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs
from tests.unit.analysis import confirmations

from becalm.analysis import tune_confirmation
from becalm.analysis.variance_source import against_settings, classify
from becalm.nouns.finding import Interval


def speeds(seed: int, sd: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [1e8 * np.exp(sd * rng.standard_normal(15)) for _ in range(6)]


def test_noise_of_the_processor_is_told_from_waiting_and_from_the_program() -> None:
    cpu = speeds(1, 0.02)
    rng = np.random.default_rng(2)
    wall = [time + 1e5 * rng.random(15) for time in cpu]
    finding = classify(wall, cpu, 0.018, "gzip")
    assert finding is not None
    assert finding.kind == "processor"
    assert finding.numbers["cpu_share"] > 0.99
    assert "becalm compare" in finding.sentence
    assert f"about {finding.numbers['runs_for_one_percent']} runs" in finding.sentence
    inside = classify(wall, cpu, 0.0005, "gzip")
    assert inside is not None
    assert inside.kind == "program"
    steady = speeds(3, 0.0001)
    waiting = classify([time + 5e6 * rng.exponential(size=15) for time in steady], steady, 0.0005, "gzip")
    assert waiting is not None
    assert waiting.kind == "waiting"


def test_a_diagnosis_against_settings_is_tested() -> None:
    cpu = speeds(1, 0.02)
    finding = classify([time + 1e5 for time in cpu], cpu, 0.018, confirmations.PROGRAM)
    assert finding is not None
    assert "was not measured on fresh runs" in finding.sentence
    assert "outside" not in finding.sentence
    judged = tune_confirmation.judge(confirmations.confirmation(confirmations.TRUTH), (confirmations.PROGRAM,))
    refuted = against_settings(finding, judged.comparisons)
    best = max(
        (comparison for comparison in judged.comparisons if comparison.ratio.low > 1),
        key=lambda comparison: comparison.ratio.value,
    )
    assert (refuted.numbers["helped"], refuted.numbers["reduction"]) == (best.arm, best.ratio.value)
    assert "help all the same" in refuted.sentence
    assert "outside" not in refuted.sentence
    idle = [comparison for comparison in judged.comparisons if not comparison.ratio.low > 1] or [
        structs.replace(best, ratio=Interval(1.1, 0.9, 1.4))
    ]
    held = against_settings(finding, idle)
    assert held.numbers["at_most"] == max(time.ratio.high for time in idle)
    assert "outside the operating system, and it was put to the test" in held.sentence
    assert against_settings(finding, [structs.replace(best, program="other")]) == finding


def test_where_noise_comes_from_is_not_said_without_knowing() -> None:
    cpu = speeds(1, 0.02)
    assert classify(cpu, [np.full(15, math.nan)] * 6, 0.01, "x") is None
    assert classify(cpu[:1], cpu[:1], 0.01, "x") is None
    # Half and half: the interval of the share holds one half.
    other = speeds(2, 0.02)
    assert classify([a + b for a, b in zip(cpu, other, strict=True)], cpu, 0.01, "x") is None
    with pytest.raises(ValueError, match="differ in length"):
        classify(cpu, cpu[:3], 0.01, "x")


def test_drift_from_loop_to_loop_is_no_cpu_share() -> None:
    # CPU and wall time drift together, but within the loops they have nothing in common.
    level = np.exp(np.linspace(0, 1, 6))
    rng = np.random.default_rng(1)
    cpu = [1e8 * at * np.exp(0.001 * rng.standard_normal(15)) for at in level]
    wall = [1.1e8 * at * np.exp(0.02 * rng.standard_normal(15)) for at in level]
    finding = classify(wall, cpu, 0.001, "x")
    assert finding is not None
    assert finding.kind == "waiting"
