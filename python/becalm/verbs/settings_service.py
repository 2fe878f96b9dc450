"""The service that restores settings when a machine starts, from what a crash left in the journal.

The agent that it runs is a copy that only root can write: the one in an installed package may belong to an ordinary
user, and root must not run what others can change.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from becalm.errors import MachineError
from becalm.hosts.agent import agent_path

AGENT = "usr/local/lib/becalm/becalm-agent"
UNIT = "etc/systemd/system/becalm-restore.service"
NAME = "becalm-restore.service"

TEXT = f"""\
[Unit]
Description=Restore settings that becalm had left on this machine
ConditionPathExists=|/var/lib/becalm/journal
ConditionPathExists=|/var/lib/becalm/boot
After=local-fs.target
Before=multi-user.target

[Service]
Type=oneshot
RemainAfterExit=no
ExecStart=/{AGENT} restore --at-start --interrupt-wait 0
# Files: its own, those of a boot entry, and where installers put swap files. Swap files elsewhere: becalm reset.
ProtectSystem=strict
ReadWritePaths=-/boot -/efi -/etc/systemd/system -/swapfile -/swap.img -/swap
StateDirectory=becalm
StateDirectoryMode=0755
RuntimeDirectory=becalm
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
ProtectHome=yes
PrivateTmp=yes
UMask=0077
# Devices: swap areas, and the bound on wake-up latency.
DevicePolicy=closed
DeviceAllow=block-* rw
DeviceAllow=/dev/cpu_dma_latency rw
# Rights: swapon(2); CPUs of other people's tasks; continuing other people's processes; variables of the firmware.
CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_NICE CAP_KILL CAP_LINUX_IMMUTABLE
NoNewPrivileges=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service @swap
SystemCallFilter=~@aio @keyring @memlock @setuid
SystemCallErrorNumber=EPERM
# No network but the socket of systemd itself.
PrivateNetwork=yes
IPAddressDeny=any
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes

[Install]
WantedBy=multi-user.target
"""
"""The text of the unit; see systemd.service(5) and systemd.exec(5).

It lacks ProtectKernelTunables, ProtectControlGroups and PrivateDevices, which would forbid restoring. Nobody waits for
interrupts, since whatever a unit has started ends with it.
"""


def install_service(root: Path = Path("/"), start: bool = True) -> list[str]:
    """Install the agent for root and the service below `root`, replacing an older one.

    `start`: have the running systemd read and enable it; only where `root` is this machine's. Returns a sentence for
    each thing done. Raises MachineError when a file cannot be written or systemd refuses.
    """
    _need_root(root)
    done = []
    try:
        write_whole(root / AGENT, Path(agent_path()).read_bytes(), 0o755)
        done.append(f"The agent was copied to {root / AGENT}.")
        write_whole(root / UNIT, TEXT.encode(), 0o644)
    except OSError as error:
        raise MachineError(f"The service cannot be installed: {error.filename}: {error.strerror}.") from error
    if start and _systemd_runs(root):
        _systemctl("daemon-reload")
        _systemctl("enable", "--quiet", NAME)
        done.append(f"{root / UNIT} was written and enabled: it runs at each start of the machine.")
    else:
        done.append(f"{root / UNIT} was written, but not enabled. When systemd runs there: systemctl enable {NAME}")
    return done


def remove_service(root: Path = Path("/"), start: bool = True) -> list[str]:
    """Undo `install_service`. Returns a sentence for each thing done, none when nothing was installed."""
    _need_root(root)
    running = start and _systemd_runs(root)
    done = []
    if running and (root / UNIT).exists():
        _systemctl("disable", "--quiet", NAME)
        done.append(f"{NAME} was disabled.")
    for path in (root / UNIT, root / AGENT):
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise MachineError(f"The service cannot be removed: {path}: {error.strerror}.") from error
        done.append(f"{path} was removed.")
    with contextlib.suppress(OSError):
        (root / AGENT).parent.rmdir()
    if running and done:
        _systemctl("daemon-reload")
    return done


def _need_root(root: Path) -> None:
    if root == Path("/") and os.geteuid() != 0:
        raise MachineError("The service belongs to root: run this as root, with sudo. Nothing was changed.")


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file completely or not at all, owned by root where we are root; it is on the disk on return."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), 0, 0)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _systemd_runs(root: Path) -> bool:
    """Return whether systemd is running, as sd_booted(3)."""
    return root == Path("/") and Path("/run/systemd/system").is_dir()


def _systemctl(*arguments: str) -> None:
    try:
        done = subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise MachineError(f"systemctl cannot be run: {error.strerror}. The files are written.") from error
    if done.returncode != 0:
        raise MachineError(f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()} The files are written.")
