"""A machine to log in to: a private sshd on this one, on a port of its own, with a home directory of its own.

As root it can be a different machine in what matters: `prelude` is shell that runs in a private mount namespace
before sshd starts, where it may mount what it likes. Nobody else sees that, and it goes when sshd goes.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import children
from tests.needs import need
from tests.support.ports import free_port
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts import aliases
from becalm.results.progress import Quiet

PRIVSEP = Path("/run/sshd")
"""The empty directory that sshd of root wants; the system's own service makes it when it starts."""


class Far:
    """An sshd and a client configuration that reaches it as `far`; `name` is a name of `becalm host` for it."""

    def __init__(self, path: Path, *, prelude: str = "", home: str | None = None):
        sshd = need("sshd", "ssh", "ssh-keygen")
        if prelude and (os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0):
            pytest.skip("A private mount namespace needs root.")
        self.path, self.name = path, "far"
        self.home = path / "home"
        self.home.mkdir(parents=True)
        # What a login shell says must not disturb; bash reads this also when sshd starts it for a command.
        (self.home / ".bashrc").write_text(
            "echo Welcome to the far machine.\necho Mind the gap. >&2\nprintf %s dear-\n"
        )
        for name in ("host_key", "id"):
            keygen(path / name)
        shutil.copy(path / "id.pub", path / "authorized_keys")
        self.port = free_port()
        self.known_hosts(path / "host_key.pub")
        self.configure()
        (path / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {path}/host_key\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {path}/authorized_keys /mnt/keys\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME={home or self.home}\n"
        )
        self.made_privsep = os.geteuid() == 0 and not PRIVSEP.exists()
        if self.made_privsep:
            PRIVSEP.mkdir(mode=0o755)
        serve = [sshd, "-D", "-e", "-f", str(path / "sshd_config")]
        if prelude:
            serve = ["unshare", "-m", "sh", "-e", "-c", f'{prelude}\nexec "$@"', "sh", *serve]
        with (path / "sshd.log").open("wb") as log:
            self.sshd = subprocess.Popen(serve, stderr=log, stdin=subprocess.DEVNULL)
        wait_for(lambda: self.sshd.poll() is not None or answers(self.port))
        assert self.sshd.poll() is None, (path / "sshd.log").read_text()
        aliases.add(self.name, "ssh://far", str(path / "ssh_config"))

    def configure(self, *lines):
        """Write the client's configuration; a line of `lines` goes before the usual ones and so wins."""
        usual = [
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"IdentityFile {self.path}/id",
            "IdentitiesOnly yes",
            "IdentityAgent none",
            f"UserKnownHostsFile {self.path}/known_hosts",
            "GlobalKnownHostsFile /dev/null",
        ]
        (self.path / "ssh_config").write_text("\n".join(["Host far", *lines, *usual, ""]))

    def known_hosts(self, key):
        """Make the client know this key for the server; none when None."""
        line = "" if key is None else f"[127.0.0.1]:{self.port} {key.read_text()}"
        (self.path / "known_hosts").write_text(line)

    def inside(self, path):
        """Return a path as the far machine sees it."""
        return Path(f"/proc/{self.sshd.pid}/root{path}")

    def agents(self, home=None):
        """Return the copies of the agent there."""
        return sorted(Path(home or self.home).glob(".cache/becalm/*"))

    def sessions(self):
        """Return processes of sshd that serve connections: for users other than root there are two for each."""
        result, left = [], children(self.sshd.pid)
        while left:
            pid = left.pop()
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    result.append(pid)
                    left += children(pid)
        return result

    def clients(self):
        """Return the processes of ssh that are connected to it (proc_net(5), tcp)."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        sockets = {f"socket:[{words[9]}]" for words in lines if int(words[2].partition(":")[2], 16) == self.port}
        result = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                opened = {os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")}
                if sockets & opened:
                    result.add(int(pid))
        return result

    def cut(self):
        """End every connection, as a server does that goes down; what was started there is left to itself."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stall(self):
        """Stall the connection as if the network were cut: nothing comes any more, and nobody there is told."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def close(self):
        """End sshd and its connections."""
        self.cut()
        self.sshd.terminate()
        self.sshd.wait(timeout=HANG_LIMIT_S)
        if self.made_privsep:
            PRIVSEP.rmdir()


class Cutting(Quiet):
    """A listener that cuts the connection at a certain report of progress; `seen`: the content of a setting's place
    then.

    `gone`: the machine cannot be reached again. `how`: another way than cutting. `said`: what the person was told.
    """

    def __init__(self, far, after, place=None, *, gone=False, how=None):
        self.far, self.after, self.place, self.gone, self.how = far, after, place, gone, how or far.cut
        self.calls, self.seen, self.said = 0, None, []

    def _one(self):
        self.calls += 1
        if self.calls == self.after:
            self.seen = self.place and self.place.read_text().strip()
            if self.gone:
                self.far.configure("Port 1")
            self.how()

    def progressed(self, progress):
        self._one()

    def searching(self, searching):
        self._one()

    def warned(self, sentence):
        self.said.append(sentence)


def keygen(path, passphrase=""):
    """Make a key of its own."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path], check=True)


def answers(port):
    """Return whether somebody listens there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
