"""Commands side by side, in rows: `python tools/rows.py "make test" "make docs ; make lint"`.

The output of the first row is printed at once, that of each other row as a whole when the first has ended, under its
name. A row is one command after the other, with " ; " between them, also when one of them has failed; after Ctrl-C or
SIGTERM no other begins. The exit code is the first that is not 0, so that no failure hides behind another one.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO

from wakeup import Wakeup, terminate

Command = Sequence[str]

CANNOT_RUN, INTERRUPTED = 127, 130
"""The exit codes of shells for a command that cannot be run, and for Ctrl-C."""


class Row:
    """Commands that are run one after the other, under a name. `output`: the file for what they print; None prints it
    at once.
    """

    def __init__(self, name: str, commands: Sequence[Command], output: IO[bytes] | None) -> None:
        self.name, self.output = name, output
        self.codes: list[int] = []
        self.seconds: list[float] = []
        self.descriptor: int | None = None
        """The descriptor of the command that runs, readable when it has ended (pidfd_open(2)); None: none runs."""
        self.ending = False
        """Whether no other command begins."""
        self._left = list(commands)
        self._began = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def go_on(self) -> None:
        """Begin the next command when none runs any more."""
        if self._process is not None and self._process.poll() is not None:
            self._ended(self._process.returncode)
        while self._process is None and self._left:
            command = self._left.pop(0)
            self._began = time.monotonic()
            if self.ending:
                self._ended(INTERRUPTED)
                continue
            try:
                self._process = subprocess.Popen(command, stdout=self.output, stderr=self.output)
            except OSError as error:
                print(f"{command[0]}: {error.strerror}", file=sys.stderr)
                self._ended(CANNOT_RUN)
                continue
            self.descriptor = os.pidfd_open(self._process.pid)
            if self.ending:
                # The signal came before the process was known.
                terminate(self._process)

    def terminate(self) -> None:
        """Send SIGTERM to the command that is running."""
        if self._process is not None:
            terminate(self._process)

    def report(self) -> None:
        """Print the exit codes, and the output unless it was printed at once."""
        seconds = " + ".join(f"{value:.0f}" for value in self.seconds)
        print(f"\n=== {self.name}: {seconds} s, exit codes {self.codes} ===", flush=True)
        if self.output is not None:
            self.output.seek(0)
            while piece := self.output.read(1 << 16):
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()

    def _ended(self, code: int) -> None:
        self.codes.append(code)
        self.seconds.append(time.monotonic() - self._began)
        self._process = None
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def side_by_side(rows: Sequence[tuple[str, Sequence[Command]]]) -> list[int]:
    """Run rows, each with its name, and return the exit codes of all their commands."""
    with ExitStack() as stack:
        wakeup = stack.enter_context(Wakeup())
        quiet = [stack.enter_context(tempfile.TemporaryFile()) for _ in rows[1:]]
        running = [Row(name, commands, output) for (name, commands), output in zip(rows, [None, *quiet], strict=True)]

        def end(number: int, _frame: object) -> None:
            for row in running:
                row.ending = True
                # Ctrl-C reaches all commands, and each reports what it did until then.
                if number != signal.SIGINT:
                    row.terminate()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if (before := signal.getsignal(number)) != signal.SIG_IGN:
                stack.callback(signal.signal, number, before)
                signal.signal(number, end)
        for row in running:
            row.go_on()
        for row in running:
            while row.descriptor is not None:
                wakeup.wait(*(other.descriptor for other in running if other.descriptor is not None))
                for other in running:
                    other.go_on()
            row.report()
    return [code for row in running for code in row.codes]


def main(arguments: Sequence[str]) -> int:
    """Run the rows of commands, an argument each, and return the exit code."""
    codes = side_by_side([(argument, [shlex.split(part) for part in argument.split(" ; ")]) for argument in arguments])
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
