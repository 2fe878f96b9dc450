"""Load that is really made on this machine is named as the cause: campaigns of `bench/causes.py`, 20 loads each.

A campaign may fail to name its cause by chance: of 50 simulated ones whose load slows a program by half, on a machine
with 2 % of noise, 50 named the CPU and 48 the network (`bench/explain.py --runs 20`). So each is repeated once before
the test fails, which it then does at most once in 600. Memory and disk are in the bench alone: swapping in a shared
limit was named in two of three campaigns of 20 loads on a busy machine, and a disk that serves many at a time is not
slowed by one writer more.

All of that is said of a machine that does nothing else. Beside the virtual machines of `make test` there is other load,
which may well be the cause: so these run by themselves, by `make campaigns`.
"""

import os

import pytest
from tests.needs import need

import causes

QUIET = "BECALM_QUIET"
"""Set by `make campaigns`: nothing else runs on this machine."""

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(QUIET not in os.environ, reason="real load is named on a machine that is idle: make campaigns"),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace and priority need root")
@pytest.mark.parametrize("kind", ["cpu", "network"])
def test_the_load_that_is_made_is_the_cause_that_is_named(kind):
    need("ip", "tc")
    said = []
    for seed in (1, 2):
        found = causes.apart(kind, seed, quick=True)
        if "unavailable" in found:
            pytest.skip(found["unavailable"])
        said.append(found["sentence"])
        if found["cause"] == causes.CASES[kind].cause:
            return
    pytest.fail("\n".join(said))
