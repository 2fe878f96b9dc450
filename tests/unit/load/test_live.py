"""A process over an interval: sums, and whether they have all of it."""

from becalm.load.live import Followed, ProcessCounts, account
from becalm.load.metrics import PROCESS

SECOND = 1_000_000_000


def followed(before=None, after=None):
    start = {
        "run_ns": 0,
        "wait_ns": 0,
        "user_ns": 0,
        "system_ns": 0,
        "voluntary": 0,
        "involuntary": 0,
        "block_ns": None,
    }
    return Followed(
        7, ProcessCounts(**{**start, **(before or {})}), ProcessCounts(**{**start, **(after or {})}), SECOND
    )


def test_delay_is_one_plus_wait_over_run():
    assert followed(after={"run_ns": SECOND // 2, "wait_ns": SECOND // 4, "user_ns": SECOND // 2}).delay == 1.5
    assert followed(after={"wait_ns": 5}).delay is None, "nothing was run"
    assert followed(after={"wait_ns": None, "run_ns": 5}).delay is None


def test_threads_that_came_and_went_are_noticed():
    """The kernel has their CPU time, the sums over threads have not."""
    whole = followed(after={"run_ns": 300_000_000, "user_ns": 310_000_000})
    assert whole.exact
    assert whole.running == 0.3
    holes = followed(after={"run_ns": 30_000_000, "user_ns": 200_000_000, "system_ns": 50_000_000})
    assert not holes.exact
    assert holes.running == 0.25, "by ticks"
    assert not followed(after={"run_ns": None, "user_ns": 5}).exact


def test_a_counter_unknown_at_one_end_is_unknown():
    assert followed(before={"wait_ns": None}, after={"wait_ns": 3}).moved("wait_ns") is None
    assert followed(before={"wait_ns": 9}, after={"wait_ns": 3}).moved("wait_ns") == 0
    assert {measure.name for measure in PROCESS if measure.of(followed()) is None} == {
        "process_block", "process_read", "process_written", "process_faults",
    }  # fmt: skip


def test_fields_of_a_newer_agent_are_left_out():
    reading = account({"name": "x", "threads": 2, "missing": ["/proc/PID/io …"], "invented": 5})
    assert (reading.name, reading.threads, reading.missing, reading.run_ns) == ("x", 2, ("/proc/PID/io …",), None)
