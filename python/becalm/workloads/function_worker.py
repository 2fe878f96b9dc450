"""Time calls of a pickled function: `python function_worker.py FUNCTION CALLS|calibrate:SECONDS`.

It runs as a script under any interpreter, and imports nothing of becalm. The last line of its output is JSON. See
`becalm.workloads.function`.
"""

from __future__ import annotations

import base64
import itertools
import json
import pickle
import sys
import time
import zlib
from collections.abc import Callable


def timed(function: Callable[[], object], calls: int) -> float:
    """Return the time of a number of calls, s, including some 20 ns per call for the loop."""
    rest = itertools.repeat(None, calls)
    begun = time.perf_counter()  # noqa: TID251
    for _ in rest:
        function()
    return time.perf_counter() - begun  # noqa: TID251


def calibrated(function: Callable[[], object], seconds: float) -> int:
    """Return a number of calls, a power of two, that take at least this time, s."""
    calls = 1
    while timed(function, calls) < seconds:
        calls *= 2
    return calls


def main() -> None:
    """Print the time of a call, or the number of calls for a time, as the arguments request."""
    paths, body = pickle.loads(zlib.decompress(base64.b64decode(sys.argv[1])))
    sys.path[:0] = [path for path in paths if path not in sys.path]
    function = pickle.loads(body)
    task = sys.argv[2]
    # A first call may import modules and fill caches.
    function()
    if task.startswith("calibrate:"):
        answer: dict[str, float] = {"becalm_calls": calibrated(function, float(task.partition(":")[2]))}
    else:
        answer = {"becalm_call_s": timed(function, int(task)) / int(task)}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
