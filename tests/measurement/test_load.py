"""Readings of the machine's load: when they were made, and a load of known size."""

import subprocess
import sys
import time

from tests.contract.conversation import Agent
from tests.contract.load.test_load import reading


def test_times_are_those_of_the_reading(agent):
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    sources = reading(agent)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    for source in sources.values():
        assert before <= source["at_ns"] <= source["at_ns"] + source["took_ns"] <= after


def test_a_known_load_is_seen():
    """A spinner's CPU time, by its own clock, is in what the machine's CPUs did, within a fifth.

    Ticks of which the processor was taken away are counted as steal or as interrupts, not as the spinner's.
    """
    agent = Agent()
    try:
        reading(agent, ["stat"])
        spinner = "import time\nwhile time.process_time() < 0.5: pass"
        subprocess.run([sys.executable, "-c", spinner], check=True)
        moved = reading(agent, ["stat"], changes=True)["stat"]["changes"]
    finally:
        agent.close()
    kinds = ("user", "nice", "system", "irq", "softirq", "steal")
    assert sum(moved.get(f"cpu.{name}", 0) for name in kinds) >= 40
