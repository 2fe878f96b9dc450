"""Asking a script of the user something before it is measured: as the right user, in its directory, ended for sure."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import UsageError, WorkloadError
from becalm.workloads.asked import Asked

LIMIT_S = 600.0
"""An answer that takes longer, in seconds, does not come."""

LINES = 5
"""So many lines of what a failing script said are shown."""


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
    """How a script ended (negative: the signal) and what it wrote."""

    status: int
    stdout: str
    stderr: str

    @property
    def how(self) -> str:
        """The status in words."""
        return f"exit code {self.status}" if self.status >= 0 else f"signal {-self.status}"

    def last_lines(self) -> str:
        """The last lines of standard error, or of standard output when that is empty."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()[-LINES:]
        return "It said:\n" + "\n".join(f"  {line}" for line in lines) if lines else "It said nothing."


def account(asked: str | None) -> Account | None:
    """The user to run as when becalm runs as root: the one asked for, else who called sudo; None for becalm's own.

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


def call(argv: Sequence[str], asked: Asked, owner: Account | None) -> Said:
    """Run a program to its end in the directory and environment of the workload. Raises WorkloadError."""
    if MARK in os.environ:
        raise UsageError(f"{argv[1]} is not asked: becalm was started by a script that becalm itself is asking.")
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
            raise WorkloadError(f"{argv[1]} did not answer within {LIMIT_S:g} s. It was ended.") from None
        raise
    return Said(process.returncode, stdout, stderr)
