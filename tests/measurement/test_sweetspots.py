"""How long a program that is recorded is waited for before it is moved."""

import os
import sys

from tests.contract.run.test_sweetspots_live import UNTIL_BOUND, movable, recorded


@movable
def test_a_program_without_a_spot_is_moved_at_the_limit():
    cpus = sorted(os.sched_getaffinity(0))
    move = recorded([sys.executable, "-c", UNTIL_BOUND], migrate=cpus[0]).move
    waited = move["done"]["waited"]
    print(f"waited for {waited['waited_ns'] / 1e6:.1f} ms")
    assert waited["why"] == "hard_limit"
    assert waited["waited_ns"] >= 100_000_000
