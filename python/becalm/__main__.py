"""The command `becalm`, and `python -m becalm`: Ctrl-C is heard before anything else is imported.

`main` is the entry point. Until the command is loaded nothing has begun, so an interrupted one says so and is gone:
there is nothing to restore, and an exception in the middle of an import is a stack trace, or swallowed there. What
comes after is `becalm.cli.main`'s, but for the end: a process that is done is left to the kernel, since taking each
module apart would make a short command a tenth longer.

Only Python's own start, before this file, is out of reach: Python itself, and the script that pip writes, which with
older pips imports regular expressions first. So nothing is imported here that takes time: `signal` would, for
enumerations which `_signal`, the part of Python that it wraps, does without.
"""

import _signal as signal  # type: ignore[import-not-found]
import os
import sys

INTERRUPTED = 130
"""The exit code of a shell for a program that Ctrl-C has ended: 128 and the number of SIGINT."""


_code: int | None = None
"""The exit code of a command that has ended; None while it has not, or where Python says something of the end."""


class InterruptedCommand(KeyboardInterrupt):
    """Ctrl-C once the command is loaded.

    Python takes note of a plain KeyboardInterrupt that leaves a piece of code which is executed from a text, as every
    dataclass is made, and then ends by SIGINT whatever exit code it is given (run_eval_code_obj in CPython's
    Python/pythonrun.c).
    """


def _gone(number: int, frame: object) -> None:
    os.write(2, b"\nbecalm: Interrupted.\n")
    os._exit(INTERRUPTED)


def _interrupted(number: int, frame: object) -> None:
    raise InterruptedCommand


def _open_standard_streams() -> None:
    """Open /dev/null in the place of each standard stream that is closed, as cron jobs and daemons may have them.

    Otherwise the next file that is opened would get its number, and be written to as if it were the stream.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _leave() -> None:
    """Flush the streams and exit, as the last exit handler: threads and all other handlers have ended."""
    if _code is None:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # Python itself says so, and with which exit code.
        return
    os._exit(_code)


def main() -> None:
    """Run the command and exit. A Ctrl-C that is ignored, as in the background of a script, stays so."""
    global _code
    _open_standard_streams()
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _gone)
    import atexit

    # Those who registered before, as files of `site` may, come after: what they do must not be left out.
    if not getattr(atexit, "_ncallbacks", lambda: 1)():
        atexit.register(_leave)
    from becalm.cli.main import main as command

    if ours:
        signal.signal(signal.SIGINT, _interrupted)
    try:
        command()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            _code = 0 if ended.code is None else ended.code & 0xFF
        raise
    finally:
        # Everything is said and restored; what is left is Python's own end, where an exception is a stack trace again.
        if ours:
            signal.signal(signal.SIGINT, _gone)


if __name__ == "__main__":
    main()
