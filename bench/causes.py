"""Whether real load on this machine is named as the cause: designed campaigns, each of one kind of load.

    python bench/causes.py [--quick] [--campaigns 5] [cpu memory disk network]

Each program is slowed by something that it shares with the load: processors; a memory limit, with swap in compressed
memory (zram); a disk; or a loopback network that a token bucket shapes, in a network namespace of its own. All programs
but that for `cpu` have priority over all others on the processors (fifo), so that load on processors is not a cause.
Everything but `cpu` needs root, and the bench reports what this machine lacks. Sometimes no cause is named, and
rightly: one more writer does not slow a disk that serves many at a time, such as those of virtual machines; and
throttling by control groups (version 1) is not a shared queue. `--quick`: 20 loads instead of 30, with fewer runs next
to each.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
LIMIT = 48 * MIB
"""The limit of the memory that load and program share."""

LONG_NS, SHORT_NS = 500_000_000, 150_000_000
"""The length of the runs next to one load together, without the load: usually, and with --quick."""

SPIN = """
import time
end = time.process_time() + 0.12
while time.process_time() < end:
    pass
"""

PAGES = """
import os, subprocess, sys
found = subprocess.run(["pgrep", "-x", "becalm-load"], capture_output=True, text=True).stdout.split()
for pid in found:
    for line in open(f"/proc/{pid}/cgroup"):
        number, controllers, path = line.strip().split(":", 2)
        if "memory" in controllers.split(",") and "becalm" in path:
            with open("/sys/fs/cgroup/memory" + path + "/cgroup.procs", "w") as group:
                group.write(str(os.getpid()))
            break
    else:
        continue
    break
buffer = bytearray(24 << 20)
# In no order, so that a larger part of the memory is missing the more the others use of it.
page, pages = 0, len(buffer) >> 12
for _ in range(12 * pages):
    page = (page * 1103515245 + 12345) & 0x7FFFFFFF
    buffer[(page >> 8) % pages << 12] = 1
"""

WRITES = """
import mmap, os, sys
path = sys.argv[1] + "/becalm-writes-" + str(os.getpid())
block = mmap.mmap(-1, 2 << 20)
file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
os.unlink(path)
for place in range(96):
    os.pwrite(file, block, place * len(block))
"""

SENDS = """
import socket, threading
door = socket.create_server(("127.0.0.1", 0))
size = 8 << 20

def take():
    one, _ = door.accept()
    left = size
    while left and (got := len(one.recv(1 << 16))):
        left -= got

taker = threading.Thread(target=take)
taker.start()
way = socket.create_connection(door.getsockname())
way.sendall(bytes(size))
taker.join()
"""

CLONE_NEWNET = 0x40000000
"""linux/sched.h."""

NETWORK_RATE = "300mbit"


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of load, what its cause is called, the program that it slows, and what is shared meanwhile."""

    cause: str
    program: str
    shared: Callable[[], contextlib.AbstractContextManager[None]]
    first: bool = True
    """Whether it goes before all others on the processors, so that load on these is no cause."""


class Missing(Exception):
    """The reason why this machine lacks something."""


@contextlib.contextmanager
def nothing() -> Iterator[None]:
    """Provide the processors, which are there already."""
    yield


@contextlib.contextmanager
def swap() -> Iterator[None]:
    """Swap in compressed memory, given back afterwards."""
    device = Path("/sys/block/zram0")
    if not device.exists() or (device / "disksize").read_text().strip() != "0":
        raise Missing("there is no zram device that nobody uses")
    if not Path("/sys/fs/cgroup/memory/cgroup.procs").exists():
        raise Missing("there is no memory controller of control groups (version 1)")
    (device / "disksize").write_text("512M")
    try:
        subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
        subprocess.run(["swapon", "/dev/zram0"], check=True)
        yield
    finally:
        subprocess.run(["swapoff", "/dev/zram0"], check=False, capture_output=True)
        (device / "reset").write_text("1")


@contextlib.contextmanager
def shaped() -> Iterator[None]:
    """Provide a loopback interface of this process's own, with limited bandwidth. It goes with the process."""
    # os.unshare came with Python 3.12.
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise Missing(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}")
    for command in (
        ["ip", "link", "set", "lo", "up"],
        ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", NETWORK_RATE, "burst", "512kb", "limit", "16mb"],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{' '.join(command[:3])}: {done.stderr.strip()}")
    yield


DIRECTORY = "/var/tmp"
CASES = {
    "cpu": Case("CPU", SPIN, nothing, first=False),
    "memory": Case("memory", PAGES, swap),
    "disk": Case("disk", WRITES, nothing),
    "network": Case("network", SENDS, shaped),
}


def campaign(kind: str, seed: int, steps: int, block_ns: int) -> dict[str, object]:
    """Run one campaign in this process, whose surroundings it changes, and return the answer of explain. Raises
    Missing."""
    from becalm.load import plan
    from becalm.plans import load_steps
    from becalm.verbs.explain import explain

    case = CASES[kind]
    if kind != "cpu" and os.geteuid():
        raise Missing("it needs root")
    load_steps.BLOCK_NS = block_ns
    # A small limit is filled in an instant.
    plan.MEMORY_LIMIT = LIMIT
    experiment = importlib.import_module("becalm.verbs.load_experiment")
    for name, value in (("MEMORY_LIMIT", LIMIT), ("MOST_OVER", 2 * LIMIT), ("SHARE", 1.0)):
        setattr(experiment, name, value)
    with tempfile.TemporaryDirectory() as directory, case.shared():
        store = f"{directory}/store.db"
        command = [sys.executable, "-S", "-c", case.program, DIRECTORY]
        outcome = experiment.load_experiment(
            command, steps=steps, loads=[kind], disk=DIRECTORY, store=store, seed=seed,
            settings={"policy": "fifo:50"} if case.first else {}, dangerous=case.first,
        )  # fmt: skip
        (result,) = explain(outcome.study, store=store).cases
    a = result.attribution
    return {
        "cause": a.cause,
        "answer": str(a.answer),
        "largest": a.largest_delay,
        "runs": result.runs,
        "sentence": result.sentence,
        "shares": [[share.cause, share.share, share.leads, share.inflation, share.carried] for share in a.shares],
        "missing": list(a.missing),
    }


def apart(kind: str, seed: int, *, quick: bool) -> dict[str, object]:
    """Run one campaign in a process of its own; return only "missing" where this machine lacks something."""
    command = [sys.executable, __file__, "--one", kind, "--seed", str(seed), *(["--quick"] if quick else [])]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"The campaign next to {kind} failed:\n{textwrap.indent(done.stderr[-2000:], '  ')}")
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Print a line for each campaign, and how often each cause was named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(CASES)}; none: all")
    parser.add_argument("--campaigns", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        try:
            answer = campaign(args.one, args.seed, 20 if args.quick else 30, SHORT_NS if args.quick else LONG_NS)
        except Missing as missing:
            answer = {"unavailable": str(missing)}
        print(json.dumps(answer))
        return
    for kind in args.kinds or CASES:
        counts: Counter[str] = Counter()
        for number in range(1 if args.quick else args.campaigns):
            answer = apart(kind, args.seed + number, quick=args.quick)
            counts[str(answer.get("cause") or answer.get("answer") or answer["unavailable"])] += 1
            print(f"{kind}: {answer.get('sentence', answer)}", flush=True)
        print(f"{kind}: {', '.join(f'{count} × {what}' for what, count in counts.most_common())}", flush=True)


if __name__ == "__main__":
    main()
