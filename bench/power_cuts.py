"""Cut the power of a virtual machine while becalm changes its settings, and look at it when it is up again.

    PYTHONPATH=python python bench/power_cuts.py                  200 cuts; the next start goes on
    PYTHONPATH=python python bench/power_cuts.py --cuts 10000     overnight
    PYTHONPATH=python python bench/power_cuts.py --quick          shows that it works
    PYTHONPATH=python python bench/power_cuts.py --show           the table of what was done so far

The guest (`becalm guest prepare 6.1`) has the directory of the journal on a disk that outlives it. Its agent applies
settings, switches between them and restores them without a pause. At random moments

- QEMU is stopped and its disk copied: that is what a power cut at this moment would leave, without anything that the
  guest's kernel had not yet written. The file system of the copy recovers (e2fsck), its directory is given to a machine
  that has started anew and by itself has values that becalm had set, and `becalm-agent restore` acts on it: no value
  may change, no journal may be left, no refusal;
- after `--images` of these QEMU is killed, and the next boot has the same disk: it must come up, restore, have all
  values of a fresh start, and go on.

A disk that loses writes which it has acknowledged is not tested.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from becalm.errors import BecalmError
from becalm.hosts import Access
from becalm.hosts.agent import agent_path
from becalm.hosts.guest import GuestMachine, kernel, options, storage
from becalm.nouns.settings import Settings
from campaign import OUT, Log, Record, conclude, describe, share, table

PLACE = "/var/lib/becalm"
SETTINGS: tuple[dict[str, str | int | bool], ...] = (
    {"swappiness": 13, "stat_interval": 20, "aslr_system": "off"},
    {"transparent_hugepages": "never", "watchdogs": "off", "timer_migration": "off"},
    {"swappiness": 14, "sched_rr_timeslice_ms": 50},
    {"swappiness": 15, "workqueue_cpus": "away", "irq_affinity": "away"},
)
LATEST_S = 0.6
"""The longest time between two moments: an emulated guest switches in a part of a second."""

STARTED = {
    "proc/sys/kernel/random/boot_id": "00000000-0000-4000-8000-000000000000\n",
    "proc/sys/vm/swappiness": "13\n",
    "proc/sys/vm/stat_interval": "20\n",
    "proc/sys/kernel/randomize_va_space": "0\n",
    "proc/sys/kernel/timer_migration": "0\n",
    "proc/sys/kernel/sched_rr_timeslice_ms": "50\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
}
"""A machine that has started anew and has, by itself, values that becalm had set: a journal that were still taken for
that of this start would have them changed."""


class LastingDisk(storage.Storage, frozen=True):
    """A disk with the journal's directory that stays when its machine is gone."""

    path: Path = Path()

    def made(self, place: Path) -> list[str]:
        """Return the words for QEMU; the disk is made for the first boot only."""
        if not self.path.exists():
            part = self.path.with_suffix(".new")
            with part.open("wb") as file:
                file.truncate(128 << 20)
            subprocess.run([storage.MAKER, "-q", "-F", "-t", "ext4", str(part)], check=True)
            part.replace(self.path)
        drive = f"file={self.path},format=raw,if=none,id=disk,cache=writeback"
        return ["-drive", drive, "-device", "virtio-blk-pci,drive=disk"]

    def opened(self, place: Path) -> None:
        """Leave the disk where it is."""


def guest(version: str, disk: Path) -> GuestMachine:
    """Return a guest with this disk, not booted yet."""
    wanted = options.parse(f"{version}?disk=128M&limit=600s")
    machine = GuestMachine(f"guest:{version}", wanted, kernel.find(version), Access(user="root"))
    own = machine._storage
    machine._storage = LastingDisk(128, own.modules, (("/etc/becalm/disk", f"{PLACE}\n"),), disk)
    return machine


def values(machine: GuestMachine) -> dict[str, str]:
    """Return the values of all settings that are changed."""
    names = {name for settings in SETTINGS for name in settings}
    return {row.name: str(row.value) for row in machine.inner.knobs() if row.name in names and row.supported}


class Switching(threading.Thread):
    """A thread that applies, switches and restores settings until the machine has gone."""

    def __init__(self, machine: GuestMachine, draw: random.Random) -> None:
        super().__init__(daemon=True)
        self.agent, self.draw, self.times = machine.inner, draw, 0
        self.known = {row.name for row in self.agent.knobs() if row.supported}

    def run(self) -> None:
        """Apply and restore settings until an answer fails to come."""
        try:
            while True:
                wanted = {name: value for name, value in self.draw.choice(SETTINGS).items() if name in self.known}
                with self.agent.hold(Settings.of(wanted), dangerous=True):
                    self.times += 1
        except (BecalmError, OSError):
            return


def frozen_copy(pid: int, disk: Path, copy: Path) -> None:
    """Copy the disk of a machine that stands still meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        subprocess.run(["cp", "--sparse=always", str(disk), str(copy)], check=True)
    finally:
        os.kill(pid, signal.SIGCONT)


def restored_copy(copy: Path, place: Path) -> Record:
    """Restore what the directory on a copy says on a machine that has started anew; return what came of it."""
    checked = subprocess.run(["e2fsck", "-p", "-f", str(copy)], capture_output=True, text=True)
    root = place / "root"
    shutil.rmtree(root, ignore_errors=True)
    for path, text in STARTED.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / PLACE[1:]).parent.mkdir(parents=True)
    (root / PLACE[1:]).mkdir()
    subprocess.run(["debugfs", "-R", f"rdump / {root / PLACE[1:]}", str(copy)], capture_output=True, check=True)
    journal = root / PLACE[1:] / "journal"
    there = journal.exists()
    done = subprocess.run([agent_path(), "restore", "--root", str(root)], capture_output=True, text=True)
    now = {path: (root / path).read_text() for path in STARTED}
    return {
        "kind": "image",
        "journal": there,
        "left": journal.exists(),
        "differing": {path: now[path] for path in STARTED if now[path] != STARTED[path]},
        # Exit codes of e2fsck(8): 1 is that something was corrected, which is the file system's own recovery.
        **({"failed": checked.stdout[-300:]} if checked.returncode not in (0, 1) else {}),
        **({"failed": done.stderr[-300:]} if done.returncode else {}),
    }


def boot(machine: GuestMachine, log: Log) -> None:
    """Boot and compare with a fresh start; keep what came of it."""
    begun = time.monotonic()
    fresh = next((record["values"] for record in log.records if "values" in record), None)
    try:
        before = machine.inner.status()
        restored = machine.inner.restore(force=False)
        after, now = machine.inner.status(), values(machine)
    except BecalmError as error:
        log.add({"kind": "boot", "failed": str(error)})
        raise
    record: Record = {
        "kind": "boot",
        "journal": before.anything,
        "left": after.anything,
        "unsettled": list(restored.unsettled),
        "boot_s": round(time.monotonic() - begun, 1),
    }
    if fresh is None:
        log.add(record | {"kind": "first boot", "values": now})
    else:
        log.add(record | {"differing": {name: now.get(name) for name in fresh if now.get(name) != fresh[name]}})


def round_of_cuts(options: argparse.Namespace, log: Log, end: float) -> None:
    """Boot, take what power cuts would leave at some moments, cut the power."""
    draw = random.Random(f"{options.seed}:{len(log.records)}")
    disk, copy = options.state / "disk", options.state / "copy"
    machine = guest(options.kernel, disk)
    try:
        boot(machine, log)
        switching = Switching(machine, draw)
        switching.start()
        link = machine._link
        assert link is not None
        for _ in range(options.images):
            time.sleep(draw.uniform(0, LATEST_S))
            if cuts(log) >= options.cuts or time.monotonic() > end or not switching.is_alive():
                break
            frozen_copy(link.process.pid, disk, copy)
            log.add(restored_copy(copy, options.state))
        os.kill(link.process.pid, signal.SIGKILL)
        switching.join()
    finally:
        machine.close()


def cuts(log: Log) -> int:
    """Return the number of cuts so far; the first boot follows none."""
    return sum(record["kind"] != "first boot" for record in log.records)


def is_bad(record: Record) -> bool:
    """Return whether a machine was not as it must be."""
    return bool("failed" in record or record["left"] or record.get("unsettled") or record.get("differing"))


def summary(records: list[Record]) -> str:
    """Return the table: a row for each way to cut the power."""
    rows = []
    for kind, name in (("image", "the disk at a moment"), ("boot", "QEMU killed, booted again")):
        own = [record for record in records if record["kind"] == kind]
        counts = (
            len(own),
            sum(bool(record.get("journal")) for record in own),
            sum("failed" in record for record in own),
            sum(bool(record.get("differing") or record.get("unsettled")) for record in own),
            sum(bool(record.get("left")) for record in own),
        )
        rows.append([name, *(f"{count:,}" for count in counts)])
    header = ["power cut", "number", "with a journal", "refused", "another value", "journal left"]
    after = [record for record in records if record["kind"] != "first boot"]
    bad = sum(map(is_bad, after))
    return table(header, rows) + f"\n\nNot as after a fresh start: {share(bad, len(after))}."


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    return f"{describe(result['machine'])}\n\n{summary(result['records'])}"


def main() -> int:
    """Run the command; the exit code is 1 when a machine was not as after a fresh start."""
    parser = argparse.ArgumentParser(description="Cut the power of a guest while its settings are changed.")
    parser.add_argument("--state", type=Path, default=OUT / "power_cuts", help="directory in which a campaign goes on")
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--images", type=int, default=50, help="moments of one boot at which the disk is taken")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0 is never")
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="three cuts: shows that it works")
    parser.add_argument("--show", action="store_true", help="print the table only")
    options = parser.parse_args()
    if options.quick:
        options.state, options.cuts, options.images = options.state.with_name("power_cuts-quick"), 3, 2
    path = options.state / "cuts.jsonl"
    if not options.show:
        log = Log(path, {"seed": options.seed, "kernel": options.kernel})
        end = time.monotonic() + (options.seconds or float("inf"))
        while cuts(log) < options.cuts and time.monotonic() < end:
            round_of_cuts(options, log, end)
        shutil.rmtree(options.state / "root", ignore_errors=True)
        (options.state / "copy").unlink(missing_ok=True)
    return conclude(path, options.state.with_suffix(".json"), report, is_bad)


if __name__ == "__main__":
    sys.exit(main())
