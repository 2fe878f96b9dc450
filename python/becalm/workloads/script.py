"""Running a program of the user to list its benchmarks, as the right user, in its directory, with a time limit.

`parts` and `chosen` parse a text such as `bench.py:NAME`; `call` runs the program; `interpreter` finds Python.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from becalm.command_session import NOT_ENDED, end_group, run_in_session
from becalm.errors import UsageError, WorkloadError
from becalm.workloads.program_options import ProgramOptions

LIMIT_S = 600.0
"""The time limit of a program that lists its benchmarks, s."""

LINES = 5
"""The number of lines of a failing script's output to report."""


MARK = "BECALM_ASKS"
"""The variable in the environment of a script that lists its benchmarks, so that a script that uses becalm cannot run
itself forever."""


class Account(msgspec.Struct, frozen=True):
    """The user who runs a script."""

    name: str
    uid: int
    gid: int
    home: str


class ScriptEnd(msgspec.Struct, frozen=True):
    """The end of a script: its exit code (negative: the signal) and its output."""

    status: int
    stdout: str
    stderr: str

    @property
    def how(self) -> str:
        """The status in words."""
        return f"exit code {self.status}" if self.status >= 0 else f"signal {-self.status}"

    def last_lines(self) -> str:
        """Return a sentence with the last lines of standard error, or of standard output if that is empty."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()[-LINES:]
        return "Its output:\n" + "\n".join(f"  {line}" for line in lines) if lines else "It had no output."


Named = TypeVar("Named")


def parts(
    text: str, program_options: ProgramOptions, way_out: str, exists: Callable[[Path], bool] = Path.is_file
) -> tuple[Path, str | None]:
    """Split a text at the first colon after a path that `exists`; return the path and a benchmark's name, or None.

    Raises UsageError, ending with the sentence `way_out`, if no such path exists.
    """
    if exists(path := program_options.file(text)):
        return path, None
    for index, letter in enumerate(text):
        if letter == ":" and exists(program_options.file(text[:index])):
            return program_options.file(text[:index]), text[index + 1 :]
    raise UsageError(f"There is no file {program_options.file(text.partition(':')[0])}. {way_out}")


def chosen(benchmarks: Mapping[str, Named], name: str | None, path: Path) -> tuple[Named, ...]:
    """Return all benchmarks of a file (`name` None), that of a name, or those that match a pattern such as `sort/*`,
    with the characters of a shell (`*`, `?`, `[ab]`). Raises UsageError if there is none."""
    if name is None:
        return tuple(benchmarks.values())
    if name in benchmarks:
        return (benchmarks[name],)
    if matching := [benchmark for title, benchmark in benchmarks.items() if fnmatch.fnmatchcase(title, name)]:
        return tuple(matching)
    near = difflib.get_close_matches(name, list(benchmarks), n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{path.name} has no benchmark {name!r}.{hint} It has: {', '.join(benchmarks)}.")


def interpreter(name: str | None) -> str:
    """Return the absolute path of a Python interpreter (None: that of becalm). Raises UsageError."""
    if name is None and not sys.executable:
        raise UsageError(
            "The Python interpreter that runs becalm is not known. Name one for the script: --python PATH."
        )
    path = shutil.which(name or sys.executable)
    if path is None:
        raise UsageError(f"There is no executable interpreter {name!r}. Name one, for example /usr/bin/python3.")
    return os.path.abspath(path)


@contextlib.contextmanager
def answers(owner: Account | None) -> Iterator[Path]:
    """Yield a private directory that the account owns, for the answer of a program, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="becalm-") as folder:
        if owner is not None:
            os.chown(folder, owner.uid, owner.gid)
        yield Path(folder)


def account(user: str | None) -> Account | None:
    """Return the user to run as if becalm runs as root: `user`, else the caller of sudo; None for becalm's own user.

    The agent has the same rule for measured programs (crates/becalm-core/src/exec/user.rs), so that listing benchmarks
    never gives a script more rights than measuring them. Raises UsageError for an unknown user, and for another user
    if becalm does not run as root.
    """
    root = os.geteuid() == 0
    name = user or (os.environ.get("SUDO_UID") if root else None)
    if not name:
        return None
    try:
        entry = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        raise UsageError(f"There is no user {name!r} on this machine.") from None
    if entry.pw_uid == os.geteuid():
        return None
    if not root:
        raise UsageError(f"Only root may run programs as another user. Leave --user {name} out.")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def call(argv: Sequence[str], program_options: ProgramOptions, owner: Account | None) -> ScriptEnd:
    """Run a program to its end in the directory and environment of the options. Raises WorkloadError."""
    script = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else argv[0]
    if MARK in os.environ:
        raise UsageError(f"{script} was not run: becalm was started by a script whose benchmarks becalm is listing.")
    environment = {**os.environ, **dict(program_options.options.get("environment") or {}), MARK: "1"}
    identity: dict[str, Any] = {}
    if owner is not None:
        environment.update({"HOME": owner.home, "USER": owner.name, "LOGNAME": owner.name})
        groups = os.getgrouplist(owner.name, owner.gid)
        identity = {"user": owner.uid, "group": owner.gid, "extra_groups": groups}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    with contextlib.ExitStack() as stack:
        session = run_in_session(argv, cwd=program_options.directory, env=environment, **pipes, **identity)
        try:
            process = stack.enter_context(session)
        except OSError as error:
            raise WorkloadError(
                f"{argv[0]} could not be started in {program_options.directory}: {error.strerror}."
            ) from error
        try:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            end = "was ended" if end_group(process) else NOT_ENDED
            raise WorkloadError(f"{script} did not answer within {LIMIT_S:g} s and {end}.") from None
    return ScriptEnd(process.returncode, stdout, stderr)
