"""A machine of one's own with a real Debian (`image`): switched on, reached through ssh, and its power cut.

It is the Debian of the image on a copy of its disk, in QEMU under emulation, with sshd on a port of this machine.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.needs import missing
from tests.system.guest.image import Unavailable, image
from tests.system.guest.image import command as qemu_command
from tests.system.ssh.far import free_port

import becalm
from becalm.errors import MachineError
from becalm.verbs import restore_service

BOOT_LIMIT_S = 1200
"""Until sshd answers, 25 s here; a limit for what hangs."""


def image_or_skip():
    """The image; without it the test is skipped and says why."""
    try:
        return image()
    except (Unavailable, MachineError) as why:
        missing(f"no Debian image: {why}")


class Debian:
    """A machine that may be switched on and off. `config`: the ssh configuration that reaches it as `bench`."""

    def __init__(self, path: Path):
        found = image_or_skip()
        path.mkdir(parents=True)
        self.path, self.disk, self.config = path, path / "disk", path / "ssh_config"
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", found.disk, self.disk], check=True)
        self.disk.chmod(0o600)
        # ssh wants a key that is its caller's alone.
        shutil.copy(found.key, path / "id")
        self.port = free_port()
        (path / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {found.host_key.read_text()}")
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

    def switch_on(self):
        """Boot, and wait until one can log in."""
        network = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        words = qemu_command(self.disk, "-netdev", network, "-device", "virtio-net-pci,netdev=net,romfile=")
        with (self.path / "console").open("ab") as console:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.wait()
        return self

    def wait(self):
        """Until one can log in."""
        end = time.monotonic() + BOOT_LIMIT_S
        while time.monotonic() < end:
            assert self.process.poll() is None, f"QEMU ended: {self.console()[-2000:]}"
            if self._ssh("root", "true", timeout=30).returncode == 0:
                return
            time.sleep(0.5)
        raise AssertionError(f"It does not answer; its console ends with: {self.console()[-2000:]}")

    def cut_power(self):
        """What was not flushed is lost, as when the plug is pulled."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def console(self):
        """All that was ever on its console."""
        return (self.path / "console").read_text(errors="replace")

    def root(self, script):
        """What a script of root's there prints; it must end well."""
        done = self._ssh("root", script)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout.strip()

    def boot_id(self):
        """Of the kernel that runs."""
        return self.root("cat /proc/sys/kernel/random/boot_id")

    def boot_id_or_none(self):
        """The same; None while it does not answer."""
        done = self._ssh("root", "cat /proc/sys/kernel/random/boot_id", timeout=30)
        return done.stdout.strip() if done.returncode == 0 else None

    def close(self):
        """Off, and the disk forgotten."""
        self.cut_power()
        with contextlib.suppress(FileNotFoundError):
            self.disk.unlink()

    def _ssh(self, user, script, timeout=120.0):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
        words = ["ssh", "-F", str(self.config), "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(
                [*words, "-l", user, "bench", script],
                capture_output=True,
                text=True,
                timeout=timeout,
                stdin=subprocess.DEVNULL,
                check=False,
                env=environment,
            )
        return subprocess.CompletedProcess(words, 255, "", "timed out")


PLACES = "/boot/grub /etc/default /etc/grub.d /etc/systemd/system /var/lib/becalm"
"""Where everything is that has to do with starting the machine."""


def install(bench, tree):
    """What `becalm install-service` does, on a machine that has no becalm but its agent."""
    becalm.status("bench")
    restore_service.install_service(tree, start=False)
    unit = (tree / restore_service.UNIT).read_text()
    bench.root(f"install -D /home/ada/.cache/becalm/agent-* /{restore_service.AGENT}")
    bench.root(f"cat > /{restore_service.UNIT} <<'END'\n{unit}\nEND")
    bench.root(f"systemctl enable --quiet {restore_service.NAME}; mkdir -p /var/lib/becalm; sync")


def files(bench):
    """Every file that has to do with starting the machine, and its hash."""
    found = bench.root(f"find {PLACES} -type f -exec sha256sum {{}} + ; find {PLACES} -type l -printf '%l %p\\n'")
    return sorted(line for line in found.splitlines() if not line.endswith("/last-restore"))


def line_of(bench):
    return bench.root("cat /proc/cmdline")


def command(*words):
    """becalm as a person calls it, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
