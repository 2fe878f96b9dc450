"""One connection to another machine through OpenSSH, shared by all commands of a session.

The person's own ssh is used, with their configuration, keys, agent and known hosts. What a command on the other side
does is a constant script of ours (`becalm.hosts.ssh.install`): its login shell there may be any, so a script is one
line without quotes, backslashes and exclamation marks between single quotes, which sh, csh and fish read alike.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from becalm.errors import LostError, MachineError
from becalm.hosts.captured import captured
from becalm.hosts.scratch import Scratch
from becalm.hosts.ssh.address import Address
from becalm.hosts.transport import LONGEST_LINE, TooMuchError

ALIVE_SECONDS, ALIVE_COUNT = 5, 3
"""A connection on which nothing has come for 5 s is asked three times whether it lives, then given up."""

CONNECT_SECONDS, PATIENT_SECONDS = 10, 40
"""The time in which a machine must have answered and exchanged keys, s. The longer one where nobody waits at a
terminal: a machine that has just been started is slow."""

PERSIST_SECONDS = 20
"""The time that the shared connection outlives its last command, s, when nobody closes it: becalm was killed."""

LONGEST_SOCKET = 80
"""The longest path of a socket, of the 107 bytes that it may have (unix(7)); ssh appends 17 while it makes one."""

FAILED = 255
"""ssh's exit status when not the command there but ssh itself failed (ssh(1))."""

MOST_ANSWER = LONGEST_LINE
"""Bytes of an answer: the runs that a lost agent had finished are the longest."""

MARK = b"becalm-begins-here\n"
"""The mark after the output of the login shell's start-up files."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a remote command.

    `out`: what it wrote after the mark; `before`: what its login shell wrote before it, or instead of running it.
    """

    code: int
    out: bytes
    err: str
    before: str = ""


class SshConnection:
    """Commands on another machine. The first one connects, and may ask the person for a passphrase on the terminal.

    `alone`: nobody is there to be asked.
    """

    def __init__(self, address: Address, *, alone: bool = False) -> None:
        self.address = address
        self._alone = alone
        self._scratch = _private_directory()
        self._directory = Path(self._scratch.name)
        self._connected = False
        self._said: BinaryIO | None = None

    def ask(self, script: str, data: bytes = b"") -> CommandEnd:
        """Run a script with `data` on its standard input. Raises LostError when the machine cannot be reached.

        Raises MachineError when it answers without end.
        """
        # In the foreground the first time, so that ssh can ask on the terminal. The shared connection then lives in a
        # session of its own: Ctrl-C does not reach it.
        group = 0 if self._connected or self._alone else None
        try:
            done = captured(self._command(script), data, MOST_ANSWER, env=_environment(), process_group=group)
        except TooMuchError:
            raise MachineError(
                f"{self.address.name} answered with more than {MOST_ANSWER >> 20} MiB, which is all that is read. "
                "The connection was ended."
            ) from None
        except OSError as error:
            raise _no_ssh(error) from error
        err = done.stderr.decode(errors="replace")
        if done.returncode == FAILED or done.returncode < 0:
            sentence, final = explain(err, self.address)
            raise LostError(sentence, final=final)
        self._connected = True
        before, _, out = done.stdout.partition(MARK)
        return CommandEnd(done.returncode, out, err, before.decode(errors="replace").strip())

    def start(self, script: str) -> subprocess.Popen[bytes]:
        """Start a script that goes on, with pipes for its input and output; what it says beside is for `said`."""
        self._said = (self._directory / "said").open("w+b")
        try:
            return subprocess.Popen(
                self._command(script),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=_environment(),
                process_group=0,
            )
        except OSError as error:
            raise _no_ssh(error) from error

    def said(self) -> str:
        """Return the end of what the started script, or ssh, has written to standard error."""
        if self._said is None:
            return ""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 4096))
        return self._said.read().decode(errors="replace").strip()

    def seclude(self) -> None:
        """Accept no more commands: the connection ends with what was started, and nothing of it stays on the disk.

        A becalm that is killed then leaves neither a process nor a directory behind.
        """
        self._control("stop")

    def close(self) -> None:
        """End the connection with whatever still runs over it."""
        self._control("exit")
        if self._said is not None:
            self._said.close()

    def _control(self, request: str) -> None:
        if self._connected:
            command = ["ssh", *self._options(), "-O", request, *self.address.arguments()]
            with contextlib.suppress(OSError):
                subprocess.run(command, capture_output=True, env=_environment(), process_group=0, check=False)
            self._connected = False
        self._scratch.cleanup()

    def _command(self, script: str) -> list[str]:
        assert not set(script) & set("'\\!\n"), "some login shell would read this as something else"
        return ["ssh", *self._options(), *self.address.arguments(), f"exec /bin/sh -c '{script}'"]

    def _options(self) -> list[str]:
        # Whether a host's key is checked is never touched here. What a person has configured for logging in by hand
        # (a terminal, a command, forwarded ports, an agent there) is not for us.
        options = {
            "BatchMode": "no" if not self._connected and not self._alone and _on_terminal() else "yes",
            "ClearAllForwardings": "yes",
            "ConnectTimeout": str(PATIENT_SECONDS if self._alone else CONNECT_SECONDS),
            "ControlMaster": "no" if self._connected else "yes",
            "ControlPath": str(self._directory / "ssh"),
            "ControlPersist": str(PERSIST_SECONDS),
            "LogLevel": "ERROR",
            "PermitLocalCommand": "no",
            "RemoteCommand": "none",
            "ServerAliveCountMax": str(ALIVE_COUNT),
            "ServerAliveInterval": str(ALIVE_SECONDS),
            "TCPKeepAlive": "yes",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return ["-T", "-a", "-x", "-e", "none", *given]


def _private_directory() -> Scratch:
    scratch = Scratch("ssh")
    if len(os.fsencode(scratch.name)) > LONGEST_SOCKET:
        scratch.cleanup()
        scratch = Scratch("ssh", "/tmp")
    return scratch


def _environment() -> dict[str, str]:
    """Return our environment without the locale, which ssh_config of Debian and others sends along: programs there keep
    theirs."""
    return {name: value for name, value in os.environ.items() if name != "LANG" and not name.startswith("LC_")}


def _on_terminal() -> bool:
    return os.isatty(0) and os.isatty(2)


def _no_ssh(error: OSError) -> MachineError:
    return MachineError(
        f"ssh cannot be started: {error.strerror}. Install OpenSSH's client (Debian: apt install openssh-client)."
    )


_SENTENCES = (
    (True, r"REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key .* has changed",
     "The key of {name} has changed. Somebody may be intercepting the connection, or the machine was reinstalled. "
     "becalm does not connect. Ask who runs that machine; `{by_hand}` says which key is wrong and how to remove it."),
    (True, r"revoked",
     "The key of {name} is revoked. becalm does not connect. Ask who runs that machine."),
    (True, r"Host key verification failed|No \S+ host key is known",
     "The key of {name} is not known yet. Connect once by hand: `{by_hand}` shows its fingerprint and keeps the key "
     "when you accept it."),
    (False, r"Could not resolve hostname", "There is no machine named {name}: {last}. Check the spelling, the "
     "network, and Host in your ssh configuration."),
    (False, r"Connection refused", "{name} is there, but nothing answers for SSH on its port: {last}. Is sshd running "
     "there, and is the port right (ssh://name:port)?"),
    (False, r"timed out|No route to host|unreachable", "{name} does not answer: {last}. Is it on, and the network up?"),
    (False, r"Permission denied \(|Too many authentication failures|No supported authentication",
     "{name} does not let you in {as_user}: {last}. Check the user (ssh://user@name) and your key; `{by_hand}` must "
     "work without becalm. Without a terminal ssh asks nothing: load the key with ssh-add first."),
    (True, r"configuration option|Can't open user config|Bad owner or permissions|terminating, \d+ bad",
     "ssh does not accept its configuration: {last}."),
)  # fmt: skip
"""The sentences of ssh, and their meaning for the person; the first row that matches. ssh's messages are not
translated.

The first of each row: it stays so until a person has looked. A machine that is being started refuses logins, too."""

NOTHING = " Nothing was started."


def explain(err: str, address: Address) -> tuple[str, bool]:
    """Return a sentence on why ssh did not connect, from its standard error, and whether that is permanent."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    last = lines[-1].rstrip(".").removeprefix("ssh: ") if lines else "ssh said nothing"
    words = {
        "name": address.name,
        "by_hand": address.by_hand(),
        "as_user": f"as {address.user}" if address.user else "as the user that your ssh configuration names",
        "last": last,
    }
    for final, pattern, sentence in _SENTENCES:
        if re.search(pattern, err):
            return f"{sentence.format(**words)}{NOTHING}", final
    return f"{address.name} cannot be reached: {last}. Try `{address.by_hand()}`.{NOTHING}", False
