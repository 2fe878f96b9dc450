"""A program for tests that runs becalm many times, killed at some call of one of its functions.

It reads commands as JSON lines, {"words", "store", "call"}. `call` is the number of a call, or the name of a function,
where the command is killed; 0 counts all calls, and null counts none. Each is answered with {"code", "out", "err",
"calls"}: the exit code, or minus the signal that killed it, its output, and the number of calls of becalm's functions.
All is imported once; each command has a process of its own, forked from that.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import becalm
import becalm.report.terminal
import becalm.study.tune
from becalm.cli.main import main

HOME = str(Path(becalm.__file__).parent)


class Counted:
    """A counter of the calls of becalm's functions from now on; the one of the given number or name is killed.

    Python calls a trace function that returns nothing when a function is called, and for no line of it
    (sys.settrace); a profile function would be called for returns and for functions of C, too.
    """

    def __init__(self, last):
        self.count, self.last, self.ours = 0, last, {}
        if last is not None:
            sys.settrace(self.called)

    def called(self, frame, event, _):
        code = frame.f_code
        ours = self.ours.get(code)
        if ours is None:
            ours = self.ours[code] = code.co_filename.startswith(HOME)
        if ours:
            self.count += 1
            if self.last in (self.count, code.co_name):
                os.kill(os.getpid(), signal.SIGKILL)


def command(request, folder):
    """Run one command, to the end of this process."""
    os.environ["BECALM_STORE"] = request["store"]
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.argv = ["becalm", *request["words"]]
    counted = Counted(request["call"])
    try:
        main()
    except SystemExit as left:
        sys.settrace(None)
        sys.stdout.flush()
        (folder / "calls").write_text(str(counted.count))
        os._exit(left.code or 0)
    os._exit(99)


def answer(request):
    """Run one command in a process of its own, and return its answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls").write_text("0")
        process = os.fork()
        if process == 0:
            command(request, folder)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        out, err, calls = ((folder / name).read_text() for name in ("out", "err", "calls"))
        return {"code": code, "out": out, "err": err, "calls": int(calls)}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
