"""A disk with a real Debian on it: systemd, sshd, sudo, and a GRUB that it has installed itself.

`image()` gives the kept one, or builds it: `mmdebstrap` unpacks the packages (from the sources of this machine, which
must be a Debian), `mke2fs -d` makes a file system of them without mounting anything, and the machine's first boot, from
its kernel as a file, runs `grub-install` and `update-grub`. So neither root's rights, a loop device nor this machine's
boot are touched. `make guests` builds it beforehand.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import programs

from becalm import paths
from becalm.hosts.guest import qemu

SIZE_MIB, FIRST_MIB = 1500, 1
"""The size of the disk, and where its one partition begins; GRUB lies before it. The file has holes: 600 MB are in
use."""

INSTALL_LIMIT_S = 300
"""The limit for a first boot that hangs; it takes 40 s here."""

KEPT_S = 7 * 86400
"""Images of other recipes are kept for so long."""

PACKAGES = "linux-image-cloud-amd64,initramfs-tools,systemd-sysv,grub-pc,openssh-server,sudo"

LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")

MARK = "SSHD-ANSWERS"
"""The line on the machine's console when sshd listens."""

MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dev-hugepages.mount", "dev-mqueue.mount", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty.target", "getty-static.service",
    "kmod-static-nodes.service", "modprobe@.service", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount",
    "systemd-ask-password-console.path", "systemd-ask-password-wall.path", "systemd-journal-flush.service",
    "systemd-modules-load.service", "systemd-network-generator.service", "systemd-networkd-wait-online.service",
    "systemd-random-seed.service", "systemd-sysusers.service", "systemd-tmpfiles-clean.timer",
    "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service",
)  # fmt: skip
"""The units that no test needs: each is a process or more, which under emulation takes up to a second of every boot."""

MASKED_GENERATORS = (
    "cryptsetup", "debug", "getty", "gpt-auto", "hibernate-resume", "integritysetup", "rc-local", "system-update",
    "sysv", "veritysetup",
)  # fmt: skip
"""The same of systemd's generators."""

# Only what the disk needs, instead of all that some machine may need: the initramfs is loaded by the BIOS's routines.
BEFORE = """
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/small"
printf 'virtio_pci\\nvirtio_blk\\nvirtio_net\\next4\\n' > "$1/usr/share/initramfs-tools/modules.d/disk"
"""

AFTER = """
set -e
echo bench > "$1/etc/hostname"
echo '127.0.0.1 localhost bench' > "$1/etc/hosts"
echo '/dev/vda1 / ext4 errors=remount-ro 0 0' > "$1/etc/fstab"
cat > "$1/etc/systemd/network/wired.network" <<END
[Match]
Name=en* eth*
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
END
# The rest of /etc/default/grub is Debian's. An emulated timer may be late when the machine is busy: no_timer_check, or
# the kernel gives up (check_timer in arch/x86/kernel/apic/io_apic.c).
cat >> "$1/etc/default/grub" <<END
GRUB_TIMEOUT=0
GRUB_CMDLINE_LINUX="console=ttyS0 no_timer_check fsck.mode=skip"
GRUB_TERMINAL=serial
END
chroot "$1" systemctl --quiet enable systemd-networkd ssh
chroot "$1" systemctl --quiet mask $MASKED
mkdir -p "$1/etc/systemd/system-generators" "$1/etc/systemd/system/ssh.service.d" \\
  "$1/etc/systemd/system/systemd-udev-trigger.service.d"
for generator in $MASKED_GENERATORS; do
  ln -s /dev/null "$1/etc/systemd/system-generators/systemd-$generator-generator"
done
# The initramfs has found the disk; only the network is left.
cat > "$1/etc/systemd/system/systemd-udev-trigger.service.d/network.conf" <<END
[Service]
ExecStart=
ExecStart=udevadm trigger --action=add --subsystem-match=net
END
cat > "$1/etc/systemd/system/ssh.service.d/mark.conf" <<END
[Service]
ExecStartPost=/bin/sh -c 'echo $MARK > /dev/ttyS0'
END
sed -i 's/^UsePAM yes/UsePAM no/' "$1/etc/ssh/sshd_config"
# No password, which is not a locked account.
chroot "$1" useradd --create-home --shell /bin/bash --password '*' ada
for home in root home/ada; do
  mkdir -p -m 700 "$1/$home/.ssh"
  cp "$HERE/id.pub" "$1/$home/.ssh/authorized_keys"
done
chroot "$1" chown -R ada:ada /home/ada
echo 'ada ALL=(root) NOPASSWD: ALL' > "$1/etc/sudoers.d/ada"
chmod 440 "$1/etc/sudoers.d/ada"
cp "$HERE/install" "$1/install"
cp "$1/etc/ssh/ssh_host_ed25519_key.pub" "$HERE/host_key.pub"
cp "$1"/boot/vmlinuz-* "$HERE/vmlinuz"
cp "$1"/boot/initrd.img-* "$HERE/initrd"
chmod 644 "$HERE/host_key.pub" "$HERE/vmlinuz" "$HERE/initrd"
# By way of a mount of the tree alone, without the /proc and /dev that mmdebstrap has mounted in it.
mkdir "$HERE/tree"
unshare --mount sh -ec 'mount --bind "$1" "$HERE/tree"
  /sbin/mke2fs -q -t ext4 -d "$HERE/tree" -E "offset=$OFFSET,lazy_itable_init=1" -m 0 "$HERE/disk" "$BLOCKS"' - "$1"
rmdir "$HERE/tree"
"""

# Process 1 of the first boot. What it cannot do is seen: the disk does not boot, or the mark is not on the console.
INSTALL = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -o remount,rw /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
grub-install --target=i386-pc /dev/vda && update-grub && rm /install && echo GRUB-IS-INSTALLED
sync
mount -o remount,ro /
echo o > /proc/sysrq-trigger
sleep 60
"""


class Unavailable(Exception):
    """The reason why there can be no image here: a sentence for readers who wonder why a test was skipped."""


@dataclass(frozen=True, slots=True)
class Image:
    """A disk that boots, never written to again; the key that lets root and ada in; the key of its sshd."""

    disk: Path
    key: Path
    host_key: Path


def image():
    """Return the image of this recipe and this machine's Debian, built when it is not kept. Raises Unavailable."""
    words = (PACKAGES, LEFT_OUT, BEFORE, AFTER, MASKED, MASKED_GENERATORS, MARK, INSTALL, SIZE_MIB, FIRST_MIB)
    recipe = hashlib.sha256(repr(words).encode()).hexdigest()[:12]
    shelf = paths.private_directory(paths.cache_dir() / "images", "XDG_CACHE_HOME")
    place = shelf / f"debian-{release().get('VERSION_ID', '')}-{recipe}"
    with (shelf / ".lock").open("w") as lock:
        # Two test runs do not build it twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "disk").exists():
            _build(shelf, place)
    return Image(place / "disk", place / "id", place / "host_key.pub")


def release():
    """Return the description of this machine's distribution; empty where it has none (os-release(5))."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def command(disk, *more, memory_mib=1024):
    """Return QEMU's argument list for a machine with this disk; its output is the console.

    One processor: emulated ones that wait for each other hang where other work keeps the real ones busy.
    """
    accel = "tcg,thread=multi"
    words = [qemu.program(), "-machine", "q35", "-cpu", "max", "-smp", "1", "-m", f"{memory_mib}M", "-accel", accel]
    words += ["-no-user-config", "-nodefaults", "-display", "none", "-serial", "stdio"]
    name = str(disk).replace(",", ",,")
    words += ["-drive", f"file={name},format=raw,if=virtio,cache=writeback,discard=unmap"]
    return [*words, *more]


def _build(shelf, place):
    rows = {program: row for row in programs.table() for program in row.programs}
    for tool in ("mmdebstrap", qemu.PROGRAM, "ssh-keygen", "mke2fs"):
        if rows[tool].find(tool) is None:
            raise Unavailable(f"{tool} is not installed: apt-get install {rows[tool].name}")
    sources = [
        path
        for path in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.sources"))
        if path.exists()
    ]
    suite = release().get("VERSION_CODENAME", "")
    if release().get("ID") != "debian" or not sources:
        raise Unavailable("packages for a Debian are fetched from the sources of a Debian; this is none")
    with tempfile.TemporaryDirectory(dir=shelf, prefix=".build-") as scratch:
        here = Path(scratch)
        # mmdebstrap without root's rights works as another user.
        here.chmod(0o777)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "becalm", "-f", here / "id"], check=True)
        _write(here / "install", INSTALL, 0o755)
        _write(here / "before", f"#!/bin/sh -e{BEFORE}", 0o755)
        _write(here / "after", f"#!/bin/sh{AFTER}", 0o755)
        with (here / "disk").open("wb") as disk:
            disk.truncate(SIZE_MIB << 20)
        (here / "disk").chmod(0o666)
        words = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=null", f"--include={PACKAGES}"]
        words += ["--aptopt=Acquire::Languages none", "--dpkgopt=force-unsafe-io"]
        words += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
        words += [f"--essential-hook={here}/before", f"--customize-hook={here}/after", suite, "-"]
        environment = os.environ | {
            "HERE": scratch,
            "MARK": MARK,
            "MASKED": " ".join(MASKED),
            "MASKED_GENERATORS": " ".join(MASKED_GENERATORS),
            "OFFSET": str(FIRST_MIB << 20),
            "BLOCKS": f"{(SIZE_MIB - FIRST_MIB) << 10}k",
        }
        done = subprocess.run(
            [*words, *map(str, sources)], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Unavailable(f"mmdebstrap could not build a Debian: {done.stderr.strip()[-500:]}")
        _partition(here / "disk")
        _install(here)
        for name in ("install", "before", "after", "vmlinuz", "initrd"):
            (here / name).unlink()
        here.chmod(0o700)
        (here / "disk").chmod(0o444)
        for old in shelf.glob("debian-*"):
            # Another version of the project may use it still.
            if time.time() - old.stat().st_mtime > KEPT_S:
                shutil.rmtree(old)
        here.rename(place)
        # The context manager shall find something to remove.
        here.mkdir()


def _write(path, text, mode):
    path.write_text(text)
    path.chmod(mode)


def _partition(disk):
    """Write one bootable Linux partition into the table of a master boot record (its 446th byte)."""
    first, sectors = FIRST_MIB << 11, (SIZE_MIB - FIRST_MIB) << 11
    with disk.open("r+b") as file:
        file.seek(446)
        # Cylinders, heads and sectors say that they do not apply.
        file.write(struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff", first, sectors))
        file.seek(510)
        file.write(b"\x55\xaa")


def _install(here):
    """Boot it once, without its boot loader, to have it install that."""
    line = "root=/dev/vda1 rw console=ttyS0 no_timer_check quiet panic=-1 init=/install"
    words = command(
        here / "disk", "-no-reboot", "-kernel", here / "vmlinuz", "-initrd", here / "initrd", "-append", line
    )
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_LIMIT_S, check=False
        )
        output = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode(errors="replace")
    if "GRUB-IS-INSTALLED" not in output:
        raise Unavailable(f"the first boot did not install GRUB; its console ends with: {output.strip()[-500:]}")
