"""Time calls of a pickled function: `python function_worker.py FUNCTION CALLS|calibrate:SECONDS`.

Run as a script by any interpreter, it imports nothing of becalm. The last line of its output is JSON. See
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
    """Return the seconds that so many calls take; the loop's own cost, some 20 ns a call, is in it."""
    rest = itertools.repeat(None, calls)
    begun = time.perf_counter()  # noqa: TID251
    for _ in rest:
        function()
    return time.perf_counter() - begun  # noqa: TID251


def calibrated(function: Callable[[], object], seconds: float) -> int:
    """Return the number of calls that take at least so many seconds: a power of two."""
    calls = 1
    while timed(function, calls) < seconds:
        calls *= 2
    return calls


def main() -> None:
    """Do what the arguments ask for."""
    paths, body = pickle.loads(zlib.decompress(base64.b64decode(sys.argv[1])))
    sys.path[:0] = [path for path in paths if path not in sys.path]
    function = pickle.loads(body)
    wanted = sys.argv[2]
    # What a first call imports and fills is not what a call takes.
    function()
    if wanted.startswith("calibrate:"):
        answer: dict[str, float] = {"becalm_calls": calibrated(function, float(wanted.partition(":")[2]))}
    else:
        answer = {"becalm_call_s": timed(function, int(wanted)) / int(wanted)}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
