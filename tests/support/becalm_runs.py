"""becalm measuring on a tree for as long as it lives, many times over: a program that a test starts once.

It reads a JSON line for each: {"log", "root", "settings", "store", "environment", "call", "runs"}. becalm runs in a
process forked from this one, where all is imported, and prints its number. With `call` it stops itself (SIGSTOP) at
the call of that number of becalm's functions; with `runs` it measures that many runs and ends, and the number of calls
is printed after its own. The next line is read when the process before has ended.
"""

import json
import os
import signal
import sys
from pathlib import Path

import becalm
from becalm.errors import BecalmError

HOME = str(Path(becalm.__file__).parent)


class Counted:
    """A count of calls of becalm's functions; the process stops at the call of this number."""

    def __init__(self, last):
        self.count, self.last, self.ours = 0, last, {}
        sys.setprofile(self.called)

    def called(self, frame, event, _):
        """Count a call."""
        if event != "call":
            return
        code = frame.f_code
        ours = self.ours.get(code)
        if ours is None:
            ours = self.ours[code] = code.co_filename.startswith(HOME)
        if ours:
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGSTOP)


def measure(request):
    """Measure to the end of this process, whose number is printed first."""
    print(os.getpid(), flush=True)
    os.environ |= request["environment"]
    counted = Counted(request["call"])
    try:
        becalm.run(
            ["sh", "-c", f"printf +one+ >> {request['log']}"], root=request["root"], settings=request["settings"],
            store=request["store"], warmup=0, runs=request["runs"], budget="none", dangerous=True,
        )  # fmt: skip
    except BecalmError as error:
        print(error, file=sys.stderr)
    finally:
        sys.setprofile(None)
        if request["runs"]:
            print(counted.count, flush=True)
        os._exit(1)


if __name__ == "__main__":
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            measure(json.loads(line))
        os.waitpid(pid, 0)
