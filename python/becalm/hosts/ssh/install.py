"""The agent on another machine: looked for, copied, its hash checked there, and started.

It lies in `~/.cache/becalm/agent-VERSION-HASH` there, private, and is copied once a version. Scripts here are constant
but for that name and the hash, both ours; what a person gave (a user, a directory) travels on standard input.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from becalm._version import VERSION
from becalm.errors import MachineError, UsageError
from becalm.hosts.protocol import Access
from becalm.hosts.root_helper import INSTALLED
from becalm.hosts.ssh.connection import MARK, SshConnection

ELF_MACHINES = {
    3: ("i386", "i486", "i586", "i686", "x86_64"),
    21: ("ppc64le", "ppc64"),
    22: ("s390x",),
    62: ("x86_64", "amd64"),
    183: ("aarch64", "arm64"),
    243: ("riscv64",),
}
"""e_machine of an ELF header (elf.h, at byte 18) and what `uname -m` says where such a program runs."""

_SPOKEN = re.compile(r"SSH_(CLIENT|CONNECTION|TTY|AUTH_SOCK)")
"""Variables that sshd sets anew for each connection, some of another length: no part of what is measured."""

_BEGIN = f"echo; echo {MARK.decode().strip()}; "

# The hash by whatever the machine has; a small system may have nothing, which is said and handled.
_HASH = (
    'sum_of() {{ h=$(sha256sum < "$1" 2>/dev/null || openssl dgst -sha256 -r < "$1" 2>/dev/null || echo none); '
    'echo "${{h%% *}}"; }}; '
)
_PLACE = 'd="$HOME/.cache/becalm"; f="$d/{name}"; '

LOOK = (
    _BEGIN
    + _HASH
    + _PLACE
    + 'uname -s; uname -m; id -u; pwd; if test -x "$f"; then sum_of "$f"; else echo absent; fi; '
    "cat /proc/self/environ"
)
NO_ROOM, DAMAGED, NOT_RUN, NO_SUDO = 91, 92, 93, 94
"""Exit codes of the scripts below."""

COPY = (
    _HASH + _PLACE + 'n="$f.$$"; umask 077; fail() {{ rm -f "$n"; exit $1; }}; '
    f'mkdir -p "$d" && chmod 700 "$d" && cat > "$n" && chmod 700 "$n" || fail {NO_ROOM}; '
    f'h=$(sum_of "$n"); case "$h" in {{hash}}|none) ;; *) fail {DAMAGED};; esac; '
    f'v=$("$n" --version); test "$v" = "becalm-agent {{version}}" || fail {NOT_RUN}; '
    f'mv -f "$n" "$f" || fail {NO_ROOM}'
)
_SUDO = f"command -v sudo >/dev/null || exit {NO_SUDO}; "
SUDO_HELPER = _SUDO + f"exec sudo -n -- {INSTALLED} < /dev/null > /dev/null"
SUDO_AGENT = _PLACE + _SUDO + 'exec sudo -n -- "$f" --version'
SPOOL = "/dev/shm/becalm-spool-"
"""Finished runs are there until they have arrived here: in memory, because writing to a disk would disturb them."""

# Where there is no room for some 5000 runs there is no spool. What a becalm that was killed has not fetched in a week
# is nobody's.
START = (
    "echo; " + _PLACE + "IFS= read -r u; IFS= read -r r; set -- serve --silence {silence}{helper}; "
    'find /dev/shm -maxdepth 1 -name "becalm-spool-*" -mtime +6 -delete 2>/dev/null; '
    "if (umask 077; set -C; head -c 1048576 /dev/zero > {spool} && : >| {spool}) 2>/dev/null; "
    'then set -- "$@" --spool {spool}; else rm -f {spool}; fi; '
    'if test -n "$u"; then chown -- "$u" {spool} 2>/dev/null; set -- "$@" --user "$u"; fi; '
    'if test -n "$r"; then set -- "$@" --root "$r"; fi; '
    'exec {sudo}"$f" "$@"'
)
NOT_ENDED = 95
# Its name and state can be read of anybody's process (proc_pid_status(5)). One that was started through sudo is root's,
# and ends by itself when it has noticed that nobody is there. A zombie has ended: an sshd that hangs has not looked.
FORMER = (
    _BEGIN + "b=$(cat /proc/sys/kernel/random/boot_id); echo $b; i=0; "
    'while test $b = {boot} && case "$(grep -e ^Name -e ^State /proc/{pid}/status 2>/dev/null)" in '
    "*zombie*) false;; *agent-*) ;; *) false;; esac; do "
    f"test $i -lt {{seconds}} || exit {NOT_ENDED}; kill -HUP {{pid}} 2>/dev/null; sleep 1; i=$((i+1)); done; "
    "cat {spool} 2>/dev/null"
)
FORGET = "rm -f {spool}"


@dataclass(frozen=True, slots=True)
class AgentBinary:
    """The agent as a file, with what its scripts need. `machines`: what `uname -m` may say; empty when unknown."""

    content: bytes
    hash: str
    machines: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> AgentBinary:
        """Return the agent that the package carries."""
        content = Path(path).read_bytes()
        machines = ELF_MACHINES.get(int.from_bytes(content[18:20], "little"), ()) if content[:4] == b"\x7fELF" else ()
        return cls(content, hashlib.sha256(content).hexdigest(), machines)

    def script(self, template: str, **more: str) -> str:
        """Return a script filled in for this agent."""
        return template.format(name=f"agent-{VERSION}-{self.hash[:16]}", hash=self.hash, version=VERSION, **more)


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """The description that a machine gave of itself: its system, user and directory, a command's environment, the
    agent's hash."""

    system: str
    machine: str
    uid: int
    directory: str
    hash: str
    environment: Mapping[str, str]


def look(connection: SshConnection, agent: AgentBinary) -> RemoteMachine:
    """Ask the machine what it is and whether the agent is there. Raises MachineError."""
    answer = connection.ask(agent.script(LOOK))
    *lines, environment = answer.out.split(b"\n", 5)
    words = [line.decode(errors="surrogateescape") for line in lines]
    name = connection.address.name
    if len(words) == 5 and words[0] != "Linux":
        raise MachineError(f"{name} runs {words[0]}. becalm measures on Linux only. Nothing was copied.")
    if len(words) != 5 or not words[2].isdigit() or answer.code != 0:
        parts = (answer.before, answer.out.decode(errors="replace"), answer.err)
        said = " ".join(word for part in parts for word in part.split())[-300:].rstrip(".") or "nothing"
        raise MachineError(
            f"{name} did not run a command as a shell would (exit code {answer.code}); it said: {said}. "
            "Does its user have a login shell, and may it run commands?"
        )
    if agent.machines and words[1] not in agent.machines:
        raise MachineError(
            f"{name} is a machine of the kind {words[1]}, and this becalm's agent is for {agent.machines[0]}. "
            f"Nothing was copied. Use a becalm that was installed on a machine of the kind {words[1]}."
        )
    return RemoteMachine(words[0], words[1], int(words[2]), words[3], words[4], _variables(environment))


def _variables(block: bytes) -> dict[str, str]:
    pairs = (word.decode(errors="surrogateescape").partition("=") for word in block.split(b"\0") if b"=" in word)
    return {name: value for name, _, value in pairs if not _SPOKEN.fullmatch(name)}


def install(connection: SshConnection, agent: AgentBinary, there: RemoteMachine) -> bool:
    """Have the agent there, whole and able to run; True when it had to be copied. Raises MachineError."""
    if there.hash == agent.hash:
        return False
    answer = connection.ask(agent.script(COPY), agent.content)
    if answer.code == 0:
        return True
    name, said = connection.address.name, _said(answer.err)
    where = "the directory ~/.cache/becalm there"
    if answer.code == NO_ROOM:
        raise MachineError(f"The agent cannot be copied to {name}, into {where}: {said}. It is left as it was.")
    if answer.code == DAMAGED:
        raise MachineError(f"The agent arrived damaged on {name}: its hash is another one. It was removed. Try again.")
    if "ermission denied" in answer.err:
        raise MachineError(
            f"The agent may not be run on {name}: {said}. Its home directory seems to be mounted noexec. The copy was "
            "removed. Have it mounted with exec, or make ~/.cache/becalm there a mount or link to where programs may "
            "run."
        )
    raise MachineError(f"The agent does not run on {name}: {said}. The copy was removed.")


@dataclass(frozen=True, slots=True)
class RootWords:
    """The way an agent gets root's rights there: the words before its command, and its option for `becalm-helper`."""

    sudo: str = ""
    helper: str = ""


def check_sudo(
    connection: SshConnection, agent: AgentBinary, there: RemoteMachine, *, restarts: bool = False
) -> RootWords:
    """See what sudo there starts without a password, which could not be asked for. Raises MachineError.

    It is `becalm-helper`, where that is installed; for restarts of the machine, and where it is not, the agent itself.
    """
    if not restarts and connection.ask(SUDO_HELPER).code == 0:
        return RootWords(helper=f" --helper {INSTALLED}")
    answer = connection.ask(agent.script(SUDO_AGENT))
    if answer.code == 0:
        return RootWords(sudo="sudo -n -- ")
    name = connection.address.name
    user = there.environment.get("USER") or there.environment.get("LOGNAME") or str(there.uid)
    instead = f"Or connect as root: --host ssh://root@{name} --user {user}."
    if answer.code == NO_SUDO:
        raise MachineError(f"There is no sudo on {name}. Nothing was started. {instead}")
    if restarts:
        raise MachineError(
            f"sudo on {name} does not start the agent without a password: {_said(answer.err)}. Nothing was started. To "
            f"restart a machine becalm is root there. {instead}"
        )
    raise MachineError(
        f"sudo on {name} does not start {INSTALLED} without a password: {_said(answer.err)}. Nothing was started. Who "
        f"runs that machine can install and allow it there: becalm install-sudoers --copy {user}. {instead}"
    )


def start_lines(access: Access) -> bytes:
    """Return the first input of the starting script: a user and a directory, a line each. Raises UsageError."""
    words = (access.user or "", access.root or "")
    if any(set(word) & set("\n\0") for word in words):
        raise UsageError("A user or directory with a line break in its name cannot be given to another machine.")
    return "".join(f"{word}\n" for word in words).encode(errors="surrogateescape")


def _said(err: str) -> str:
    """Return the last line of a command's messages, without the shell's name in front of it."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    return re.sub(r"^(/bin/sh|sh|bash|dash): (line )?(\d+: )?", "", lines[-1]).rstrip(".") if lines else "no reason"
