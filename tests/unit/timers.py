"""Events as `becalm-agent clock` tells them, for tests of what is made of them."""

TRUST = {
    "event": "trust",
    "trust": {
        "source": "rdtscp;lfence", "fallback": None, "hz": 2.6e9, "ppm": 0.4, "announced_hz": None,
        "quantum_ticks": 26.0,
        "quantum_ns": 10.0, "smallest_cost_ns": 10.0, "median_cost_ns": 20.0, "trapped": False, "invariant": True,
        "hypervisor": True, "clocksource": "tsc", "check": {"addition_ns": 0.25, "ratio": 3.0}, "core_ghz": 4.0,
        "core_over_counter": 1.54, "fences": {"ratio": 2.4, "waited": 1.1, "bare_waited": 0.7},
        "no_cycles": "the kernel has no hardware counter of cycles here", "cpu": 1, "pinned": True, "at": 1_795_360_783,
    },
    "doubts": [],
}  # fmt: skip


def length(ns, low=None, high=None, null=None):
    evidence = {"confirmed": 10_000, "value": 0.0097 if null is None else 0.02, "null": null}
    return {"additions": round(ns * 4), "ns": ns, "typical_ns": ns, "range_ns": [low or ns, high or ns], **evidence}


def cell(timer="barrier", flush="L1", t_min=520.0, t_diff=21.0, **more):
    """Return a cell; times of None have a reason."""
    return {
        "event": "cell", "timer": timer, "meaning": "rdtscp; lfence", "unit": "nanoseconds", "flush": flush,
        "flush_bytes": 0 if flush == "L1" else 192 << 10, "many": 10_000, "repetitions": 3, "fresh": 3, "pairs": 12,
        "smallest_cost": 10.0, "median_cost": 20.0, "quantum": 10.0, "quantum_binds": False,
        "t_min": None if t_min is None else length(t_min), "no_t_min": None if t_min else "nothing passed",
        "t_diff": None if t_diff is None else length(t_diff, null=0.98),
        "no_t_diff": None if t_diff else "there is no t_min",
        "t_diff_below_quantum": False, "area": 0.999, "error": 0.01, "raw_variation": 0.03, "cleaned_variation": 0.009,
        "removed": 0.001, "shift": 0.0, "again": 2, "reference_additions": 2080,
        "reference": {"520000": 60, "530000": 40}, "context_switches": 3, "steal_ns": 0,
        "check": {"addition_ns": 0.25, "ratio": 3.0}, "elapsed_ns": 5_000_000_000, "tries": 1, **more,
    }  # fmt: skip


def planned(cells):
    return {"event": "planned", "cells": cells}


DONE = {"event": "done", "elapsed_ns": 1}
