"""Load that is really made on this machine is named as the cause: campaigns of `bench/causes.py`.

A campaign may fail to name its cause by chance: of 50 simulated ones whose load slows a program by half, on a machine
with 2 % of noise and with 20 loads, 50 named the CPU and 48 the network (`bench/explain.py --runs 20`). So each is
repeated once before the test fails, which it then does at most once in 600. Swapping in a shared limit has 30 loads:
with 20 it was named in two of three campaigns, with 30 in five of five; if that means nine in ten, the test fails once
in a hundred. The disk is in the bench alone: one that serves many at a time is hardly slowed by one writer more.

All of that holds on a machine that does nothing else: `make measure`.
"""

import os

import pytest
from tests.needs import need

import causes

QUIET = "BECALM_QUIET"
"""Set by `make measure`: nothing else runs on this machine."""

pytestmark = [
    pytest.mark.skipif(QUIET not in os.environ, reason="real load is named on a machine that is idle: make measure"),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace and priority need root")
@pytest.mark.parametrize(("kind", "quick"), [("cpu", True), ("network", True), ("memory", False)])
def test_the_load_that_is_made_is_the_cause_that_is_named(kind, quick):
    need("ip", "tc", "mkswap")
    messages = []
    for seed in (1, 2):
        answer = causes.apart(kind, seed, quick=quick)
        if "unavailable" in answer:
            pytest.skip(answer["unavailable"])
        messages.append(answer["sentence"])
        if answer["cause"] == causes.CASES[kind].cause:
            return
    pytest.fail("\n".join(messages))
