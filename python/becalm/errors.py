"""Errors that end a command: each is a sentence for the person, and knows its exit code.

Exit codes (docs/reference/exit-codes.md): 0 done, 1 the answer is no, 2 usage, 3 the machine refuses, 4 the workload
failed, 5 undecided, 130 interrupted.
"""

from __future__ import annotations

import shlex
import sys


def install(*packages: str) -> str:
    """Return the one command that installs what is missing where this becalm runs."""
    return f"{sys.executable} -m pip install {shlex.join(packages)}"


class BecalmError(Exception):
    """Base of all errors that becalm raises on purpose. `str()` is the sentence."""

    exit_code = 3

    def append(self, more: str) -> None:
        """Have it say more behind its sentence. Whatever else it carries stays."""
        self.args = (f"{self}{more}", *self.args[1:])


class UsageError(BecalmError):
    """The command or call contradicts itself or names something that does not exist."""

    exit_code = 2


class UnfinishedError(UsageError):
    """A study that becalm was ended in says nothing yet; the sentence says how to go on."""


class MachineError(BecalmError):
    """The machine, the agent or the store refuses."""

    exit_code = 3


class StoreError(MachineError):
    """The store cannot be read or written. `unsaved`: runs, as a becalm file, that no other place took either."""

    def __init__(self, sentence: str, *, unsaved: str = "") -> None:
        super().__init__(sentence)
        self.unsaved = unsaved


class LostError(MachineError):
    """The connection to a machine is gone, or cannot be made. The agent there restores everything by itself.

    `final`: trying again later would not help, a person has to look.
    """

    def __init__(self, sentence: str, *, final: bool = False) -> None:
        super().__init__(sentence)
        self.final = final


class Interrupted(MachineError):
    """The person stopped it before anything could be said; the sentence says how to go on."""

    exit_code = 130


class UnsettledError(MachineError):
    """An error when the machine is not as it was before becalm changed it; the sentence names the difference."""


class RefusedError(MachineError):
    """The machine does not take a setting: a place, the kernel, or missing rights. Everything was restored."""


class BootError(RefusedError):
    """The machine does not come up with some kernel parameters, or its kernel does not take them.

    `knobs`: those that it ignored; empty when it did not come up.
    """

    def __init__(self, sentence: str, knobs: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.knobs = knobs


class WorkloadError(BecalmError):
    """A program could not be run, or failed."""

    exit_code = 4
