"""Commands side by side, in rows: `python tools/rows.py "make test" "make docs ; make lint"`.

The output of the first row is printed at once, that of each other row as a whole when the first has ended, under its
name. A row is one command after the other, with " ; " between them, also when one of them has failed; after Ctrl-C or
SIGTERM no other begins. The exit code is the first that is not 0, so that no failure hides behind another one.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from threading import Thread
from typing import IO

Command = Sequence[str]

CANNOT_RUN, INTERRUPTED = 127, 130
"""The exit codes of shells for a command that cannot be run, and for Ctrl-C."""


class Row:
    """Commands that are run one after the other, in the background, under a name. `output`: the file for what they
    print; None prints it at once.
    """

    def __init__(self, name: str, commands: Sequence[Command], output: IO[bytes] | None) -> None:
        self.name, self.output = name, output
        self.codes: list[int] = []
        self.seconds: list[float] = []
        self._ending = False
        self._process: subprocess.Popen[bytes] | None = None
        self._commands = commands
        self._thread = Thread(target=self._run)

    def start(self) -> None:
        """Begin with the first command."""
        self._thread.start()

    def terminate(self) -> None:
        """Send SIGTERM to the command that is running, and have no other begin."""
        self._ending = True
        if (process := self._process) is not None:
            process.terminate()

    def wait(self) -> None:
        """Wait until the last command has ended, then pass its output on."""
        self._thread.join()
        seconds = " + ".join(f"{value:.0f}" for value in self.seconds)
        print(f"\n=== {self.name}: {seconds} s, exit codes {self.codes} ===", flush=True)
        if self.output is not None:
            self.output.seek(0)
            while piece := self.output.read(1 << 16):
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()

    def _run(self) -> None:
        for command in self._commands:
            began = time.monotonic()
            interrupted = self._ending or self.codes[-1:] in ([-signal.SIGINT], [INTERRUPTED])
            self.codes.append(INTERRUPTED if interrupted else self._code_of(command))
            self.seconds.append(time.monotonic() - began)

    def _code_of(self, command: Command) -> int:
        try:
            self._process = subprocess.Popen(command, stdout=self.output, stderr=self.output)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            return CANNOT_RUN
        if self._ending:
            # The signal came before the process was known.
            self._process.terminate()
        return self._process.wait()


def side_by_side(rows: Sequence[tuple[str, Sequence[Command]]]) -> list[int]:
    """Run rows, each with its name, and return the exit codes of all their commands."""
    running: list[Row] = []

    def terminate(*_: object) -> None:
        for row in running:
            row.terminate()

    # Ctrl-C reaches all commands, and each reports what it did until then.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: terminate, signal.SIGHUP: terminate}
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        with ExitStack() as files:
            quiet = [files.enter_context(tempfile.TemporaryFile()) for _ in rows[1:]]
            for (name, commands), output in zip(rows, [None, *quiet], strict=True):
                running.append(Row(name, commands, output))
            for row in running:
                row.start()
            for row in running:
                row.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return [code for row in running for code in row.codes]


def main(arguments: Sequence[str]) -> int:
    """Run the rows of commands, an argument each, and return the exit code."""
    codes = side_by_side([(argument, [shlex.split(part) for part in argument.split(" ; ")]) for argument in arguments])
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
