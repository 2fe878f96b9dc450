"""Finding, copying, checking and starting the agent on another machine.

It is kept there as the private file `~/.cache/becalm/agent-VERSION-HASH`, and copied once per version. The scripts are
constant except for that name and the hash; text from the user (a user name, a directory) is sent on standard input.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from becalm._version import VERSION
from becalm.errors import MachineError, UsageError
from becalm.hosts.protocol import Access
from becalm.hosts.root_helper import INSTALLED, SUDO_S
from becalm.hosts.ssh.connection import MARK, SshConnection

ELF_MACHINES = {
    3: ("i386", "i486", "i586", "i686", "x86_64"),
    21: ("ppc64le", "ppc64"),
    22: ("s390x",),
    62: ("x86_64", "amd64"),
    183: ("aarch64", "arm64"),
    243: ("riscv64",),
}
"""The `uname -m` of machines that run an ELF program, by e_machine of its header (elf.h, at byte 18)."""

_SSH_VARIABLES = re.compile(r"SSH_(CLIENT|CONNECTION|TTY|AUTH_SOCK)")
"""Variables that sshd sets for each connection, some with varying length; programs do not get them."""

_BEGIN = f"echo; echo {MARK.decode().strip()}; "

# The hash, by whichever program the machine has; a small system may have none.
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
"""The place of finished runs until they have arrived here: memory, because writing to a disk would disturb runs."""

# Without room for some 5000 runs there is no spool. A spool that was not fetched within a week is deleted.
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
# Name and state of any process can be read (proc_pid_status(5)). An agent that was started through sudo belongs to
# root, and ends by itself when it notices that the connection is lost. A zombie has ended: a hanging sshd has not
# reaped it.
FORMER = (
    _BEGIN + "b=$(cat /proc/sys/kernel/random/boot_id); echo $b; i=0; "
    'while test $b = {boot} && case "$(grep -e ^Name -e ^State /proc/{pid}/status 2>/dev/null)" in '
    "*zombie*) false;; *agent-*) ;; *) false;; esac; do "
    f"test $i -lt {{seconds}} || exit {NOT_ENDED}; kill -HUP {{pid}} 2>/dev/null; sleep 1; i=$((i+1)); done; "
    "cat {spool} 2>/dev/null"
)
FORGET = "rm -f {spool}"


class AgentBinary(msgspec.Struct, frozen=True):
    """The agent as a file. `machines`: values of `uname -m` where it runs; empty if unknown."""

    content: bytes
    hash: str
    machines: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> AgentBinary:
        """Return the agent of the installed package."""
        content = Path(path).read_bytes()
        machines = ELF_MACHINES.get(int.from_bytes(content[18:20], "little"), ()) if content[:4] == b"\x7fELF" else ()
        return cls(content, hashlib.sha256(content).hexdigest(), machines)

    def script(self, template: str, **more: str) -> str:
        """Return the script of a template for this agent."""
        return template.format(name=f"agent-{VERSION}-{self.hash[:16]}", hash=self.hash, version=VERSION, **more)


class RemoteMachine(msgspec.Struct, frozen=True):
    """A machine as its commands describe it: system, user, directory, environment, and hash of the agent there."""

    system: str
    machine: str
    uid: int
    directory: str
    hash: str
    environment: Mapping[str, str]


def look(connection: SshConnection, agent: AgentBinary) -> RemoteMachine:
    """Return the description of a machine, and whether the agent is there. Raises MachineError."""
    answer = connection.ask(agent.script(LOOK))
    *lines, environment = answer.out.split(b"\n", 5)
    words = [line.decode(errors="surrogateescape") for line in lines]
    name = connection.address.name
    if len(words) == 5 and words[0] != "Linux":
        raise MachineError(f"{name} runs {words[0]}. becalm measures on Linux only. Nothing was copied.")
    if len(words) != 5 or not words[2].isdigit() or answer.code != 0:
        parts = (answer.before, answer.out.decode(errors="replace"), answer.err)
        output = " ".join(word for part in parts for word in part.split())[-300:].rstrip(".") or "nothing"
        raise MachineError(
            f"{name} did not run a command as a shell would (exit code {answer.code}); its output: {output}. "
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
    return {name: value for name, _, value in pairs if not _SSH_VARIABLES.fullmatch(name)}


def install(connection: SshConnection, agent: AgentBinary, there: RemoteMachine) -> bool:
    """Copy the agent if it is not there, and check that it runs. Return whether it was copied. Raises MachineError."""
    if there.hash == agent.hash:
        return False
    answer = connection.ask(agent.script(COPY), agent.content)
    if answer.code == 0:
        return True
    name, reason = connection.address.name, _last_message(answer.err)
    where = "the directory ~/.cache/becalm there"
    if answer.code == NO_ROOM:
        raise MachineError(f"The agent cannot be copied to {name}, into {where}: {reason}. Nothing was changed.")
    if answer.code == DAMAGED:
        raise MachineError(f"The agent arrived damaged on {name}: its hash differs. It was removed. Try again.")
    if "ermission denied" in answer.err:
        raise MachineError(
            f"The agent may not be run on {name}: {reason}. Its home directory seems to be mounted noexec. The "
            "copy was removed. Have it mounted with exec, or make ~/.cache/becalm there a mount or link to where "
            "programs may run."
        )
    raise MachineError(f"The agent does not run on {name}: {reason}. The copy was removed.")


class RootWords(msgspec.Struct, frozen=True):
    """The words that give an agent root's rights: those before its command, and its option for `becalm-helper`."""

    sudo: str = ""
    helper: str = ""


def check_sudo(
    connection: SshConnection, agent: AgentBinary, there: RemoteMachine, *, restarts: bool = False
) -> RootWords:
    """Return the words for root's rights there, without a password, since nobody could type one. Raises MachineError.

    sudo starts `becalm-helper` if it is installed; otherwise, and for restarts of the machine, the agent itself.
    """
    name = connection.address.name
    user = there.environment.get("USER") or there.environment.get("LOGNAME") or str(there.uid)
    instead = f"Or connect as root: --host ssh://root@{name} --user {user}."
    try:
        if not restarts and connection.ask(SUDO_HELPER, limit_s=SUDO_S).code == 0:
            return RootWords(helper=f" --helper {INSTALLED}")
        answer = connection.ask(agent.script(SUDO_AGENT), limit_s=SUDO_S)
    except subprocess.TimeoutExpired:
        raise MachineError(
            f"sudo on {name} did not answer within {SUDO_S:g} s, so becalm has started nothing there. "
            f"`sudo -n true` there shows whether sudo answers. {instead}"
        ) from None
    if answer.code == 0:
        return RootWords(sudo="sudo -n -- ")
    if answer.code == NO_SUDO:
        raise MachineError(f"There is no sudo on {name}. Nothing was started. {instead}")
    if restarts:
        raise MachineError(
            f"sudo on {name} does not start the agent without a password: {_last_message(answer.err)}. Nothing was "
            f"started. Restarting a machine needs root there. {instead}"
        )
    raise MachineError(
        f"sudo on {name} does not start {INSTALLED} without a password: {_last_message(answer.err)}. Nothing was "
        f"started. Its administrator can install and allow it: becalm install-sudoers --copy {user}. {instead}"
    )


def start_lines(access: Access) -> bytes:
    """Return the input of the starting script: the user and the directory, one per line. Raises UsageError."""
    words = (access.user or "", access.root or "")
    if any(set(word) & set("\n\0") for word in words):
        raise UsageError("A user or directory with a line break in its name cannot be given to another machine.")
    return "".join(f"{word}\n" for word in words).encode(errors="surrogateescape")


def _last_message(err: str) -> str:
    """Return the last line of a command's messages, without the name of the shell."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    return re.sub(r"^(/bin/sh|sh|bash|dash): (line )?(\d+: )?", "", lines[-1]).rstrip(".") if lines else "no reason"
