"""The command `becalm`, and `python -m becalm`: Ctrl-C is heard before anything else is imported.

`main` is the entry point. Until the command is loaded nothing has begun, so an interrupted command prints a sentence
and exits at once: there is nothing to restore, and an exception in the middle of an import would be a stack trace, or
be swallowed there. After that `becalm.cli.main` is responsible, except for the end: a finished process is left to the
kernel, since taking each module apart would make a short command a tenth longer.

Only Python's own start, before this file, is out of reach: Python itself, and the script that pip writes, which with
older pips imports regular expressions first. So this file imports nothing that takes time. It imports `_signal` instead
of `signal`, its wrapper, which builds enumerations.
"""

import _signal as signal  # type: ignore[import-not-found]
import os
import sys

INTERRUPTED = 130
"""The exit code of a shell for a program that Ctrl-C has ended: 128 and the number of SIGINT."""


_code: int | None = None
"""The exit code of a command that has ended; None before, and where Python itself reports the end."""


class InterruptedCommand(KeyboardInterrupt):
    """Ctrl-C once the command is loaded.

    Python executes some code from a text, for example to create a dataclass. If a plain KeyboardInterrupt leaves such
    code, Python later ends by SIGINT, whatever its exit code is (run_eval_code_obj in CPython's Python/pythonrun.c).
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
        # Python itself reports the error, with its exit code.
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

    # Functions that were registered earlier, perhaps by files of `site`, run later, and must not be left out.
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
        # Everything is printed and restored; only Python's own end is left, where an exception is a stack trace again.
        if ours:
            signal.signal(signal.SIGINT, _gone)


if __name__ == "__main__":
    main()
