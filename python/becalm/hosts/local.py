"""This machine, through the agent of the installed package, a child process with becalm's rights.

With --sudo, `becalm-helper`, which sudo starts, makes the changes that need root. The agent has a process group of its
own, so that Ctrl-C reaches becalm and not the workload.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import subprocess

from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import AgentHost, agent_path
from becalm.hosts.protocol import Access
from becalm.hosts.root_helper import ask_sudo, helper_path
from becalm.hosts.transport import ProcessLink
from becalm.units import brief, plain_number

WAIT = "BECALM_INTERRUPT_WAIT"
"""The variable with the time in which interrupts are moved back in the background, s (docs/how-to/restore.md)."""

MOST_WAIT_SECONDS = 86_400
"""The longest such time, s: a day."""

SCRIPT = "BECALM_TEST_SCRIPT"
"""The variable with a file of scripted figures, for tests of becalm (docs/reference/protocol.md, "Scripted
figures")."""


def open_local(rest: str, access: Access) -> AgentHost:
    """Start the agent on this machine. `rest`: the host's name after "local:", which must be empty."""
    if rest:
        raise UsageError(f"The host 'local' takes nothing after it, but {rest!r} was given.")
    command = [agent_path(), "serve"]
    if (wait := os.environ.get(WAIT)) is not None:
        command += ["--interrupt-wait", _seconds(wait)]
    if scripted := SCRIPT in os.environ:
        command += ["--script", os.environ[SCRIPT]]
    if access.observed:
        command.append("--group")
    inherited: list[int] = []
    if access.user is not None:
        _check_user(access.user)
        command += ["--user", access.user]
    if access.root is not None:
        command += ["--root", access.root]
    if access.sudo and os.geteuid() != 0 and access.root is None:
        helper = helper_path()
        ask_sudo(helper)
        command += ["--helper", helper]
    for option, descriptor in (("--stdout-fd", 1), ("--stderr-fd", 2), ("--spool-fd", access.spool)):
        if descriptor is not None and _is_open(descriptor):
            # A number above the standard streams, even if one of them is closed.
            copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
            inherited.append(copy)
            command += [option, str(copy)]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=inherited, process_group=0
        )
    except OSError as error:
        raise MachineError(f"The agent cannot be started: {command[0]}: {error.strerror}.") from error
    finally:
        for descriptor in inherited:
            os.close(descriptor)
    return AgentHost("local", ProcessLink(process), access, scripted=scripted)


def _seconds(text: str) -> str:
    """Return the seconds of the variable. Raises UsageError before an agent would start and fail."""
    try:
        seconds = plain_number(text)
    except UsageError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_WAIT_SECONDS:
        raise UsageError(f"{WAIT} must be seconds, from 0 to {MOST_WAIT_SECONDS:,}, not {brief(text)}.")
    return text.strip()


def _check_user(user: str) -> None:
    """Raise UsageError for an unknown user before an agent would start and fail."""
    try:
        pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        raise UsageError(f"There is no user {user!r} on this machine.") from None


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
