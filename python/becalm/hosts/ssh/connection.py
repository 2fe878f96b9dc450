"""One connection to another machine through OpenSSH, shared by all commands of a session.

The user's own ssh is run, with its configuration, keys, agent and known hosts. Commands on the other machine are
constant scripts (`becalm.hosts.ssh.install`). Any login shell may read them there: so a script is one line in single
quotes, without quotes, backslashes and exclamation marks, which sh, csh and fish read alike.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import BinaryIO

import msgspec

from becalm.errors import LostError, MachineError
from becalm.hosts.limited_output import limited_output
from becalm.hosts.scratch import Scratch
from becalm.hosts.ssh.address import Address
from becalm.hosts.transport import LONGEST_LINE, TooMuchError

ALIVE_SECONDS, ALIVE_COUNT = 5, 3
"""The silence after which ssh probes a connection, s, and the number of unanswered probes after which it ends."""

CONNECT_SECONDS, PATIENT_SECONDS = 10, 40
"""The time in which a machine must have answered and exchanged keys, s. The longer one applies if nobody waits at a
terminal: a machine that has just been started is slow."""

PERSIST_SECONDS = 20
"""The time that the shared connection outlives its last command, s, if becalm is killed and does not close it."""

LONGEST_SOCKET = 80
"""The longest path of a socket, in bytes: of the 107 allowed (unix(7)), ssh needs 17 while it creates the socket."""

FAILED = 255
"""The exit status of ssh if ssh itself failed, and not the command there (ssh(1))."""

MOST_ANSWER = LONGEST_LINE
"""The largest answer, in bytes: the finished runs of a lost agent are the longest."""

MARK = b"becalm-begins-here\n"
"""The mark that separates the output of start-up files of the login shell from that of a script."""


class CommandEnd(msgspec.Struct, frozen=True):
    """The end of a remote command.

    `out`: its output after the mark; `before`: output of the login shell before it, or instead of running it.
    """

    code: int
    out: bytes
    err: str
    before: str = ""


class SshConnection:
    """A connection that runs commands on another machine. The first command connects, and may ask for a passphrase.

    `alone`: nobody is at the terminal to answer.
    """

    def __init__(self, address: Address, *, alone: bool = False) -> None:
        self.address = address
        self._alone = alone
        self._scratch = _private_directory()
        self._directory = Path(self._scratch.name)
        self._connected = False
        self._messages: BinaryIO | None = None

    def ask(self, script: str, data: bytes = b"", *, limit_s: float | None = None) -> CommandEnd:
        """Run a script with `data` on its standard input.

        Raises LostError if the machine cannot be reached, MachineError if its answer is too long,
        subprocess.TimeoutExpired if it takes more than `limit_s` seconds.
        """
        # The first command runs in the foreground, so that ssh can ask on the terminal. The shared connection then runs
        # in a session of its own, which Ctrl-C does not reach.
        group = 0 if self._connected or self._alone else None
        try:
            done = limited_output(
                self._command(script), data, MOST_ANSWER, env=_environment(), process_group=group, limit_s=limit_s
            )
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
        """Start a long-running script, with pipes for its input and output; `messages` returns its standard error."""
        self._messages = (self._directory / "messages").open("w+b")
        try:
            return subprocess.Popen(
                self._command(script),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                env=_environment(),
                process_group=0,
            )
        except OSError as error:
            raise _no_ssh(error) from error

    def messages(self) -> str:
        """Return the end of what the started script, or ssh, has written to standard error."""
        if self._messages is None:
            return ""
        size = self._messages.seek(0, os.SEEK_END)
        self._messages.seek(max(0, size - 4096))
        return self._messages.read().decode(errors="replace").strip()

    def seclude(self) -> None:
        """Accept no more commands: the connection ends with the started script, and its directory is removed.

        So a becalm that is killed leaves neither a process nor a directory behind.
        """
        self._control("stop")

    def close(self) -> None:
        """End the connection with everything that runs over it."""
        self._control("exit")
        if self._messages is not None:
            self._messages.close()
            self._messages = None

    def _control(self, request: str) -> None:
        # A first command that was interrupted may have left the shared connection.
        self._connected = self._connected or (self._directory / "ssh").exists()
        if self._connected:
            command = ["ssh", *self._options(), "-O", request, *self.address.arguments()]
            with contextlib.suppress(OSError):
                subprocess.run(command, capture_output=True, env=_environment(), process_group=0, check=False)
            self._connected = False
        self._scratch.cleanup()

    def _command(self, script: str) -> list[str]:
        assert not set(script) & set("'\\!\n"), "a login shell could misread this script"
        return ["ssh", *self._options(), *self.address.arguments(), f"exec /bin/sh -c '{script}'"]

    def _options(self) -> list[str]:
        # Checking of host keys is never changed. Settings for interactive logins (a terminal, a command, forwarded
        # ports, a forwarded agent) are switched off.
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
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return ["-T", "-a", "-x", "-e", "none", *words]


def _private_directory() -> Scratch:
    scratch = Scratch("ssh")
    if len(os.fsencode(scratch.name)) > LONGEST_SOCKET:
        scratch.cleanup()
        scratch = Scratch("ssh", "/tmp")
    return scratch


def _environment() -> dict[str, str]:
    """Return the environment without the locale, which ssh of Debian and others would send to the other machine."""
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
     "becalm does not connect. Ask who runs that machine; `{by_hand}` shows which key is wrong and how to remove it."),
    (True, r"revoked",
     "The key of {name} is revoked. becalm does not connect. Ask who runs that machine."),
    (True, r"Host key verification failed|No \S+ host key is known",
     "The key of {name} is not known yet. Connect once by hand: `{by_hand}` shows its fingerprint and keeps the key "
     "when you accept it."),
    (False, r"Could not resolve hostname", "There is no machine named {name}: {last}. Check the spelling, the "
     "network, and Host in your ssh configuration."),
    (False, r"Connection refused", "{name} is there, but nothing answers on its SSH port: {last}. Is sshd running "
     "there, and is the port right (ssh://name:port)?"),
    (False, r"timed out|No route to host|unreachable", "{name} does not answer: {last}. Is it on, and the network up?"),
    (False, r"Permission denied \(|Too many authentication failures|No supported authentication",
     "{name} does not let you in {as_user}: {last}. Check the user (ssh://user@name) and your key; `{by_hand}` must "
     "work without becalm. Without a terminal ssh asks nothing: load the key with ssh-add first."),
    (True, r"configuration option|Can't open user config|Bad owner or permissions|terminating, \d+ bad",
     "ssh does not accept its configuration: {last}."),
)  # fmt: skip
"""Patterns in messages of ssh, which are not translated, with the sentence to report; the first match counts.

The first value of a row: whether trying again is useless. A machine that is just starting refuses logins, too."""

NOTHING = " Nothing was started."


def explain(err: str, address: Address) -> tuple[str, bool]:
    """Return a sentence on why ssh did not connect, from its standard error, and whether trying again is useless."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    last = lines[-1].rstrip(".").removeprefix("ssh: ") if lines else "ssh gave no reason"
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
