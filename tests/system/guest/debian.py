"""A machine with a real Debian (`image`): switched on, reached through ssh, and its power cut.

It is the Debian of the image on a copy of its disk, in QEMU under emulation, with sshd on a port of this machine. It
prints a mark on its console, a file here, when sshd listens.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.contract.conversation import children
from tests.needs import missing
from tests.support.ports import free_port
from tests.system.guest.image import MARK, Unavailable, image
from tests.system.guest.image import command as qemu_command
from tests.waiting import HANG_LIMIT_S, wait_for

import becalm
from becalm.errors import MachineError
from becalm.verbs import settings_service

ENTRY = "becalm, for one start"
"""The title of becalm's boot entry, which GRUB shows on the console."""


RESTARTING = 'while "$@"; do :; done'
"""A shell script that has QEMU end when its machine restarts, and begins it again. In a QEMU that goes on, what it has
translated of the last boot makes the next one take 10 s longer."""


def image_or_skip():
    """Return the image; without it the test is skipped with the reason."""
    try:
        return image()
    except (Unavailable, MachineError) as error:
        missing(f"no Debian image: {error}")


class Debian:
    """A machine that may be switched on and off. `config`: the ssh configuration that reaches it as `bench`."""

    def __init__(self, path: Path):
        built = image_or_skip()
        path.mkdir(parents=True)
        self.path, self.disk, self.config = path, path / "disk", path / "ssh_config"
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", built.disk, self.disk], check=True)
        self.disk.chmod(0o600)
        # ssh wants a key that is its caller's alone.
        shutil.copy(built.key, path / "id")
        self.port = free_port()
        (path / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {built.host_key.read_text()}")
        lines = [
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"IdentityFile {path}/id",
            "IdentitiesOnly yes",
            "IdentityAgent none",
            f"UserKnownHostsFile {path}/known_hosts",
            "GlobalKnownHostsFile /dev/null",
        ]
        self.config.write_text("\n".join(["Host bench", *lines, ""]))
        self.process = None
        # The sockets of shared connections, whose names are to be short.
        self._sockets = tempfile.TemporaryDirectory(prefix="bench-")

    def switch_on(self):
        """Boot, and wait until sshd listens and every service of the start has done its work."""
        starts = self.starts()
        network = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        words = qemu_command(
            self.disk, "-netdev", network, "-device", "virtio-net-pci,netdev=net,romfile=", "-no-reboot"
        )
        with (self.path / "console").open("ab") as console:
            self.process = subprocess.Popen(
                ["sh", "-c", RESTARTING, "sh", *words],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        self.wait_started(starts)
        self.wait_services()
        return self

    def starts(self):
        """Return how often the machine has started until sshd listened."""
        return self.console().count(MARK)

    def is_up(self):
        """Return whether it has started and does not go down, as far as its console shows."""
        text = self.console()
        return text.rfind(MARK) > max(text.rfind("reboot: "), text.rfind("Booting `"))

    def wait_started(self, starts):
        """Wait until the machine has started more often than so many times."""
        wait_for(lambda: self.starts() > starts or self.process.poll() is not None, "the machine's start")
        assert self.process.poll() is None, f"QEMU ended: {self.console()[-2000:]}"

    def wait_services(self):
        """Wait until all services of the start have done their work, among them the one that restores settings, for
        which sshd does not wait."""
        self.root("systemctl is-system-running --wait || true")

    def cut_power(self):
        """End the machine as when the plug is pulled: what was not flushed is lost.

        QEMU alone is killed: the shell has waited for it when it ends, so its port is free then. If both were killed,
        the shell could end while QEMU still gives its memory back and holds the port.
        """
        if self.process is not None:
            wait_for(self._killed, "QEMU's end")
            self.process = None

    def _killed(self):
        """Kill QEMU, and return whether its shell has ended; one that has just begun QEMU again has not."""
        for pid in children(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self.process.poll() is not None

    def console(self):
        """Return all that was ever on its console."""
        path = self.path / "console"
        return path.read_text(errors="replace") if path.exists() else ""

    def root(self, script):
        """Return what a script of root's there prints; it must end well."""
        done = self.ssh("root", script)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout.strip()

    def boot_id(self):
        """Return the id of the boot that runs."""
        return self.root("cat /proc/sys/kernel/random/boot_id")

    def close(self):
        """Switch it off and remove its disk."""
        for socket in Path(self._sockets.name).iterdir():
            self._run("-S", str(socket), "-O", "exit", "bench")
        self.cut_power()
        with contextlib.suppress(FileNotFoundError):
            self.disk.unlink()
        self._sockets.cleanup()

    def ssh(self, user, script):
        """Run a script there; all scripts of one start of the machine share a connection."""
        socket = f"{self._sockets.name}/{user}-{self.starts()}"
        share = ("-S", socket, "-o", "ControlMaster=auto", "-o", f"ControlPersist={HANG_LIMIT_S:.0f}")
        return self._run(*share, "-o", f"ConnectTimeout={HANG_LIMIT_S:.0f}", "-l", user, "bench", script)

    def _run(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
        words = ["ssh", "-F", str(self.config), "-o", "BatchMode=yes", *words]
        try:
            return subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=HANG_LIMIT_S,
                stdin=subprocess.DEVNULL,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 255, "", "timed out")


PLACES = "/boot/grub /etc/default /etc/grub.d /etc/systemd/system /var/lib/becalm"
"""The directories of everything that has to do with starting the machine."""


def install(bench, tree):
    """Do what `becalm install-service` does, on a machine that has no becalm but its agent."""
    becalm.status("bench")
    settings_service.install_service(tree, start=False)
    unit = (tree / settings_service.UNIT).read_text()
    bench.root(f"install -D /home/ada/.cache/becalm/agent-* /{settings_service.AGENT}")
    bench.root(f"cat > /{settings_service.UNIT} <<'END'\n{unit}\nEND")
    bench.root(f"systemctl enable --quiet {settings_service.NAME}; mkdir -p /var/lib/becalm; sync")


def files(bench):
    """Return every file that has to do with starting the machine, with its hash or target."""
    rows = bench.root(f"find {PLACES} -type f -exec sha256sum {{}} + ; find {PLACES} -type l -printf '%l %p\\n'")
    return sorted(line for line in rows.splitlines() if not line.endswith("/last-restore"))


def line_of(bench):
    """Return the kernel's command line."""
    return bench.root("cat /proc/cmdline")


def command(*words):
    """Run becalm as a person does, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
