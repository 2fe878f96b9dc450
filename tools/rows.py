"""Commands side by side, in rows: `python tools/rows.py "make test" "make docs ; make lint"`.

What the first row says is seen at once, what each other row says comes whole when the first has ended, under its name.
A row is one command after the other, with " ; " between them, also when one of them has failed; after one that Ctrl-C
has ended no other begins. The exit code is the first that is not 0, so that no failure hides behind another one.
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
        self.seconds = 0.0
        self._commands = commands
        self._thread = Thread(target=self._run)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the last command has ended, then pass its output on."""
        self._thread.join()
        print(f"\n=== {self.name}: {self.seconds:.0f} s, exit codes {self.codes} ===", flush=True)
        if self.output is not None:
            self.output.seek(0)
            while piece := self.output.read(1 << 16):
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()

    def _run(self) -> None:
        began = time.monotonic()
        for command in self._commands:
            interrupted = self.codes[-1:] in ([-signal.SIGINT], [INTERRUPTED])
            self.codes.append(INTERRUPTED if interrupted else self._code_of(command))
        self.seconds = time.monotonic() - began

    def _code_of(self, command: Command) -> int:
        try:
            return subprocess.run(command, stdout=self.output, stderr=self.output, check=False).returncode
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            return CANNOT_RUN


def side_by_side(rows: Sequence[tuple[str, Sequence[Command]]]) -> list[int]:
    """Run rows, each with its name; gives the exit codes of all their commands."""
    # Ctrl-C reaches all commands, and each says what it did until then.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with ExitStack() as files:
            quiet = [files.enter_context(tempfile.TemporaryFile()) for _ in rows[1:]]
            running = [
                Row(name, commands, output) for (name, commands), output in zip(rows, [None, *quiet], strict=True)
            ]
            for row in running:
                row.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return [code for row in running for code in row.codes]


def main(arguments: Sequence[str]) -> int:
    """Run the rows of commands, an argument each, and return the exit code."""
    codes = side_by_side([(argument, [shlex.split(part) for part in argument.split(" ; ")]) for argument in arguments])
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
