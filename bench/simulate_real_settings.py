"""The settings that `bench/simulate_real.py` compares: published ones, and good and bad places."""

from __future__ import annotations

from collections.abc import Mapping

Values = Mapping[str, str | int]

SETTINGS_HOST = "guest:6.1"
MS = 1_000_000


def times(latency: float, granularity: float, wakeup: float) -> Values:
    """Return the three classic knobs, with values in ms."""
    return {
        "sched_latency_ns": round(latency * MS),
        "sched_min_granularity_ns": round(granularity * MS),
        "sched_wakeup_granularity_ns": round(wakeup * MS),
    }


PUBLISHED, OPTIMUM = "published", "the model's optimum"

SETTINGS: dict[str, Values] = {
    PUBLISHED: times(242.437236, 0.1036, 780.657445),
    "wake-ups preempt at once": {"sched_wakeup_granularity_ns": 0},
    "wake-ups preempt after 0.3 ms": {"sched_wakeup_granularity_ns": 300_000},
    "wake-ups preempt after 6 ms": {"sched_wakeup_granularity_ns": 6 * MS},
    "wake-ups preempt after 1 s": {"sched_wakeup_granularity_ns": 1000 * MS},
    "short slices": times(1, 0.1, 2),
    "short slices, preempted": times(1, 0.1, 0.1),
    "long slices": times(1000, 100, 2),
    "long slices, not preempted": times(1000, 100, 1000),
    "long slices, preempted": times(1000, 100, 0),
    "no wake-up preemption": {"sched_feature_wakeup_preemption": "off"},
    "sleepers get a whole latency": {"sched_feature_gentle_fair_sleepers": "off"},
    "next buddies": {"sched_feature_next_buddy": "on"},
    "no last buddies": {"sched_feature_last_buddy": "off"},
    "batch": {"policy": "batch"},
}
