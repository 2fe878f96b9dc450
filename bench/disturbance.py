"""Disturbance of a machine from inside, in bursts at random moments, until it is ended.

    python bench/disturbance.py SEED DIRECTORY

A burst lasts 0.1 to 0.8 s, the pause before it 0.2 s in the mean; the seed decides on both and on the kind: as many
hogs as there are CPUs, messages over the loopback interface from two senders, or files that are written, synced and
read again while the kernel is told to forget their pages. `bench/disturbed.py` uses it.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CHUNK = 1 << 20
FILE_CHUNKS = 48
"""MiB of the file that goes through the page cache."""


def hog(until: float, directory: Path) -> None:
    """Compute."""
    while time.monotonic() < until:
        sum(range(10_000))


def storm(until: float, directory: Path) -> None:
    """Send datagrams to a socket of its own, each through the loopback interface and its soft interrupt (udp(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(receiver.getsockname())
            message = bytes(1400)
            while time.monotonic() < until:
                for _ in range(64):
                    sender.send(message)
                try:
                    while True:
                        receiver.recv(2048)
                except BlockingIOError:
                    pass


def churn(until: float, directory: Path) -> None:
    """Write a file to the disk, have its pages forgotten, and read it again (posix_fadvise(2))."""
    path = directory / f"churn-{os.getpid()}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    path.unlink()
    try:
        data = bytes(CHUNK)
        while time.monotonic() < until:
            for index in range(FILE_CHUNKS):
                os.pwrite(descriptor, data, index * CHUNK)
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            for index in range(FILE_CHUNKS):
                os.pread(descriptor, CHUNK, index * CHUNK)
    finally:
        os.close(descriptor)


def _cpus() -> int:
    return os.cpu_count() or 1


KINDS: dict[str, tuple[Callable[[float, Path], None], Callable[[], int]]] = {
    "hogs": (hog, _cpus),
    "loopback": (storm, lambda: 2),
    "page cache": (churn, lambda: 1),
}
"""The function of each kind of burst, and its number of processes."""


def bursts(seed: int) -> Iterator[tuple[float, str, float]]:
    """Yield, without end, seconds of pause, the kind, and seconds of the burst after it."""
    rng = random.Random(f"disturbance/{seed}")
    while True:
        yield rng.expovariate(5.0), rng.choice(list(KINDS)), rng.uniform(0.1, 0.8)


def disturb(seed: int, directory: Path) -> None:
    """Disturb until a signal ends this process; its children end with their burst, or with the process group."""
    for pause_s, kind, burst_s in bursts(seed):
        time.sleep(pause_s)
        act, processes = KINDS[kind]
        children = []
        for _ in range(processes()):
            if not (child := os.fork()):
                act(time.monotonic() + burst_s, directory)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


@contextmanager
def disturbed(seed: int, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Disturb the machine within the block, by a process group of its own that is gone afterwards.

    Raises SystemExit where the disturbance ended by itself, so that nothing was measured next to it.
    """
    command = [sys.executable, __file__, str(seed), str(directory)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
            if (ended := process.poll()) is not None:
                raise SystemExit(f"The disturbance has ended by itself, with {ended}; nothing is known of its effect.")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    disturb(int(sys.argv[1]), Path(sys.argv[2]))
