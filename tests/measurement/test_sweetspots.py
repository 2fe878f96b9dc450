"""Live sweet spots: complete records of a program, and the wait for a moment to move it."""

import os
import sys

from tests.contract.run.test_sweetspots_live import (
    COMMAND,
    UNTIL_BOUND,
    check_process,
    movable,
    moved_process,
    recorded,
)


def test_a_program_is_recorded_with_all_its_page_faults():
    spotted = recorded(COMMAND)
    pid = spotted.detection["recording"]["pid"]
    assert pid in {program["task"] for program in spotted.programs}
    assert 0 in {spot["kind"] for spot in spotted.spots}, "it executed a program"
    own = sum(window["references"] for window in spotted.windows() if window["task"] == pid)
    print(f"{own} page faults")
    assert own > 40 * 200, "40 MiB were touched"


def test_a_running_process_is_recorded_to_its_end():
    check_process("faults")


@movable
def test_a_program_without_a_spot_is_moved_at_the_limit():
    cpus = sorted(os.sched_getaffinity(0))
    move = recorded([sys.executable, "-c", UNTIL_BOUND], migrate=cpus[0]).move
    waited = move["done"]["waited"]
    print(f"waited for {waited['waited_ns'] / 1e6:.1f} ms")
    assert waited["why"] == "hard_limit"
    assert waited["waited_ns"] >= 100_000_000


@movable
def test_a_process_is_moved_at_the_beginning_of_a_program():
    waited = moved_process()
    assert (waited["why"], waited["spot"]) == ("spot", 0)
