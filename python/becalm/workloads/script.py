"""Asking a program of the user what benchmarks it has: as the right user, in its directory, ended for sure.

`parts` and `chosen` read a text such as `bench.py:NAME`; `call` runs the program to its end; `interpreter` is Python's.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from becalm.errors import UsageError, WorkloadError
from becalm.workloads.asked import ProgramOptions

LIMIT_S = 600.0
"""An answer that takes longer, in seconds, does not come."""

LINES = 5
"""The number of lines of a failing script's output that are shown."""


MARK = "BECALM_ASKS"
"""Set in the environment of a script that is asked, so that one which uses becalm itself cannot ask itself forever."""


@dataclass(frozen=True, slots=True)
class Account:
    """The user as whom a script runs."""

    name: str
    uid: int
    gid: int
    home: str


@dataclass(frozen=True, slots=True)
class Said:
    """The end of a script (its exit code; negative: the signal) and its output."""

    status: int
    stdout: str
    stderr: str

    @property
    def how(self) -> str:
        """The status in words."""
        return f"exit code {self.status}" if self.status >= 0 else f"signal {-self.status}"

    def last_lines(self) -> str:
        """Return the last lines of standard error, or of standard output when that is empty."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()[-LINES:]
        return "It said:\n" + "\n".join(f"  {line}" for line in lines) if lines else "It said nothing."


Named = TypeVar("Named")


def parts(
    text: str, asked: ProgramOptions, way_out: str, there: Callable[[Path], bool] = Path.is_file
) -> tuple[Path, str | None]:
    """Return a file and a benchmark's name, divided at the first colon before which something is `there`.

    Raises UsageError, whose last sentence is `way_out`, where nothing is.
    """
    if there(whole := asked.file(text)):
        return whole, None
    for at, letter in enumerate(text):
        if letter == ":" and there(asked.file(text[:at])):
            return asked.file(text[:at]), text[at + 1 :]
    raise UsageError(f"There is no file {asked.file(text.partition(':')[0])}. {way_out}")


def chosen(benchmarks: Mapping[str, Named], name: str | None, path: Path) -> tuple[Named, ...]:
    """Return all benchmarks of a file, the one of that name, or those that match a pattern of it such as `sort/*`, as a
    shell matches files (`*`, `?`, `[ab]`). Raises UsageError where there is none."""
    if name is None:
        return tuple(benchmarks.values())
    if name in benchmarks:
        return (benchmarks[name],)
    if matching := [each for title, each in benchmarks.items() if fnmatch.fnmatchcase(title, name)]:
        return tuple(matching)
    near = difflib.get_close_matches(name, list(benchmarks), n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{path.name} has no benchmark {name!r}.{hint} It has: {', '.join(benchmarks)}.")


def interpreter(asked: str | None) -> str:
    """Return the absolute path of the Python that scripts are run with. Raises UsageError."""
    if asked is None and not sys.executable:
        raise UsageError("The interpreter that runs becalm is not known. Name one for the script.")
    found = shutil.which(asked or sys.executable)
    if found is None:
        raise UsageError(f"There is no interpreter {asked!r} that can be run. Name one, for example /usr/bin/python3.")
    return os.path.abspath(found)


@contextlib.contextmanager
def answers(owner: Account | None) -> Iterator[Path]:
    """Yield a private directory, the account's own, into which a program writes its answer; removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="becalm-") as folder:
        if owner is not None:
            os.chown(folder, owner.uid, owner.gid)
        yield Path(folder)


def account(asked: str | None) -> Account | None:
    """Return the user to run as when becalm runs as root: the one asked for, else who called sudo; None for becalm's
    own.

    The same rule as the agent's for the programs it measures (crates/becalm-core/src/exec/user.rs), so that asking a
    script never gives it more rights than measuring it. Raises UsageError for an unknown user, and for another user
    than becalm's own when becalm does not run as root.
    """
    root = os.geteuid() == 0
    name = asked or (os.environ.get("SUDO_UID") if root else None)
    if not name:
        return None
    try:
        found = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        raise UsageError(f"There is no user {name!r} on this machine.") from None
    if found.pw_uid == os.geteuid():
        return None
    if not root:
        raise UsageError(f"Only root may run programs as another user. Leave --user {name} out.")
    return Account(found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir)


def call(argv: Sequence[str], asked: ProgramOptions, owner: Account | None) -> Said:
    """Run a program to its end in the directory and environment of the workload. Raises WorkloadError."""
    script = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else argv[0]
    if MARK in os.environ:
        raise UsageError(f"{script} is not asked: becalm was started by a script that becalm itself is asking.")
    environment = {**os.environ, **dict(asked.options.get("environment") or {}), MARK: "1"}
    identity: dict[str, Any] = {}
    if owner is not None:
        environment.update({"HOME": owner.home, "USER": owner.name, "LOGNAME": owner.name})
        groups = os.getgrouplist(owner.name, owner.gid)
        identity = {"user": owner.uid, "group": owner.gid, "extra_groups": groups}
    try:
        process = subprocess.Popen(
            argv,
            cwd=asked.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            **identity,
        )
    except OSError as error:
        raise WorkloadError(f"{argv[0]} could not be started in {asked.directory}: {error.strerror}.") from error
    try:
        stdout, stderr = process.communicate(timeout=LIMIT_S)
    except BaseException as error:
        # Its own session keeps Ctrl-C from it, and holds all that it started: nothing is left behind.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise WorkloadError(f"{script} did not answer within {LIMIT_S:g} s. It was ended.") from None
        raise
    return Said(process.returncode, stdout, stderr)
