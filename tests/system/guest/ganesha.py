"""nfs-ganesha, Debian's NFS server in user space, as an ordinary process with files of its own.

`Ganesha` runs one: NFS 4 alone on a free port of the loopback interface, with one export in memory, without rpcbind;
its own counts of operations come by D-Bus from a bus that it has for itself. `unpacked` gives its packages, which are
fetched and kept next to the kernels for guests and not installed: installing them would start rpcbind.
"""

import contextlib
import fcntl
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.ports import free_port, listens
from tests.system.ssh.far import answers

from becalm import paths

PACKAGES = ("nfs-ganesha", "nfs-ganesha-mem")
START_LIMIT_S = 60
"""The limit for a start that hangs; it takes half a second."""
NOBODY = 65534

BUS = """<busconfig><type>system</type><listen>unix:path={place}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
</policy></busconfig>
"""
CONFIGURATION = """
NFS_CORE_PARAM {{
  Protocols = 4; NFS_Port = {port}; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false;
  Plugins_Dir = "{plugins}";
}}
NFSV4 {{
  Graceless = true; Lease_Lifetime = 180; RecoveryBackend = fs; RecoveryRoot = "{place}"; UseGetpwnam = true;
  Only_Numeric_Owners = true;
}}
NFS_KRB5 {{ Active_krb5 = false; }}
EXPORT {{
  Export_Id = 1; Path = /mem; Pseudo = /mem; Protocols = 4; Transports = TCP; SecType = sys; Access_Type = RW;
  Squash = No_Root_Squash; FSAL {{ Name = MEM; }}
}}
"""
MANAGER = ("--dest=org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr")
STATISTICS = "org.ganesha.nfsd.exportstats"


class Unavailable(Exception):
    """The reason why there can be no server here: a sentence for readers who wonder why a test was skipped."""


def unpacked():
    """Return the directory with the unpacked packages, including those that they need and this machine lacks.

    Raises Unavailable.
    """
    for tool in ("apt-get", "dpkg"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} was not found: nfs-ganesha is fetched from Debian's archive")
    shelf = paths.private_directory(paths.cache_dir() / "packages", "XDG_CACHE_HOME")
    with (shelf / ".lock").open("w") as lock:
        # Two test runs do not fetch them twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = shelf / f"nfs-ganesha-{platform.freedesktop_os_release().get('VERSION_ID', '')}"
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=shelf, prefix=".fetch-") as scratch:
                _fetch(Path(scratch))
                (Path(scratch) / "root").rename(place)
    return place


def _fetch(scratch):
    # Only simulated, which needs no rights: it lists what is missing. What is only older has a version in brackets.
    planned = _done("apt-get", "-s", "-q", "install", "--no-install-recommends", *PACKAGES)
    names = set(re.findall(r"^Inst (\S+) \(", planned, re.MULTILINE)) | set(PACKAGES)
    _done("apt-get", "download", "-q", *sorted(names), cwd=scratch)
    for package in scratch.glob("*.deb"):
        _done("dpkg", "-x", package, scratch / "root")


def _done(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        message = next((line for line in done.stderr.splitlines() if line.startswith("E:")), done.stderr.strip()[-200:])
        raise Unavailable(f"{words[0]} {words[1]}: {message}")
    return done.stdout


class Ganesha:
    """A server that runs until `close`. `port`: where it listens, on the loopback interface."""

    def __init__(self):
        tree = unpacked()
        self.port, self._processes = free_port(), []
        self._scratch = tempfile.TemporaryDirectory(prefix="becalm-nfs-")
        self._place = place = Path(self._scratch.name)
        # 5 MB; the cache of root is closed to others.
        root = shutil.copytree(tree, place / "root", symlinks=True)
        libraries = [*root.glob("usr/lib/*-linux-gnu"), *root.glob("lib/*-linux-gnu"), root / "usr/lib/ganesha"]
        self._environment = {
            **os.environ,
            "PATH": f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={place}/bus",
        }
        (place / "bus.conf").write_text(BUS.format(place=place))
        text = CONFIGURATION.format(port=self.port, plugins=libraries[0] / "ganesha", place=place)
        (place / "ganesha.conf").write_text(text)
        if os.geteuid() == 0:
            # As nobody it can neither harm nor, where rpcbind runs, take another server's place there.
            os.chown(place, NOBODY, NOBODY)
        try:
            self._start("dbus-daemon", "--nofork", "--nopidfile", f"--config-file={place}/bus.conf")
            self._wait(lambda: listens(place / "bus"))
            files = ("-L", place / "log", "-f", place / "ganesha.conf", "-p", place / "pid")
            self._start("ganesha.nfsd", "-F", *files)
            self._wait(lambda: answers(self.port))
            self._ask("EnableStats", "string:v4_full")
        except BaseException:
            self.close()
            raise

    def operations(self):
        """Return how often each operation of NFS 4 was asked for, in the server's own count: READ, WRITE, SEQUENCE,
        …"""
        answer = self._ask("GetFULLV4Stats")
        # Structures of a name, the number of calls, of errors, and three latencies.
        return {name: int(calls) for name, calls in re.findall(r'struct \{\s+string "(\w+)"\s+uint64 (\d+)', answer)}

    def log(self):
        """Return the end of its log."""
        with contextlib.suppress(OSError):
            return (self._place / "log").read_text(errors="replace")[-2000:]
        return "nothing"

    def close(self):
        """End it, and forget its files."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._scratch.cleanup()

    def _start(self, *words):
        rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        if shutil.which(words[0], path=self._environment["PATH"]) is None:
            raise Unavailable(f"{words[0]} was not found")
        with (self._place / "said").open("ab") as output:
            self._processes.append(
                subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=self._environment,
                    cwd=self._place,
                    **rights,
                )
            )

    def _wait(self, there):
        end = time.monotonic() + START_LIMIT_S
        while not there():
            ended = any(process.poll() is not None for process in self._processes)
            assert not ended, f"It ended: {(self._place / 'said').read_text()} {self.log()}"
            assert time.monotonic() < end, f"It does not start: {self.log()}"
            time.sleep(0.05)

    def _ask(self, method, *arguments):
        words = ["dbus-send", "--system", "--print-reply", *MANAGER, f"{STATISTICS}.{method}", *arguments]
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, check=True)
        return done.stdout
