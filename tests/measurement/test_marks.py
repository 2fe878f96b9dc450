"""The marks of built-in kernels are times of CLOCK_MONOTONIC."""

import subprocess
import time

from tests.contract.agent.test_pressing import AGENT, words


def test_marks_lie_between_readings_of_the_clock_before_and_after():
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run([AGENT, "kernel", "phases", *words("phases")], capture_output=True, text=True, check=True)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    times = [int(line.split()[1]) for line in done.stderr.splitlines()]
    print(f"{len(times)} marks within {(after - before) / 1e6:.1f} ms")
    assert before < times[0] <= times[-1] < after
