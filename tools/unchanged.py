"""Run a command, and fail when it leaves a trace on the machine: `python tools/unchanged.py -- make …`.

The command gets a temporary directory of its own, which is removed afterwards. Processes that it started, however they
detached themselves, are waited for, then named with the test that started them, ended, and counted as a failure. So is
what differs on the machine afterwards and can be ours (`traces.py`). Everything else that differs (`snapshot.py`) is
listed and is no failure: others use the machine, too.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import snapshot
import traces
from wakeup import Wakeup, terminate

GRACE_S = 10.0
"""The time for processes that are ending, as a guard waits until its agent has gone, and for traces of others."""

WAITERS = ("becalm-guard", "becalm-keeper", "becalm-starter")
PATIENCE_S = 75.0
"""The time for becalm's processes that wait for interrupts: after a minute they give up and give all masks back."""

CANNOT_RUN = 127
"""The exit code of shells for a command that cannot be run."""

ENDING_S = 60.0
"""The time for a killed process to end; one that waits for a disk cannot be hurried."""

PAUSE_S = 0.1
MOST_LINES = 20

RUN = "BECALM_TEST_RUN"
"""The environment variable that marks processes of the command, also those that are no descendants any more."""

PRIVATE = {
    "TMPDIR": "",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "DASK_CONFIG": "dask",
    "MPLCONFIGDIR": "matplotlib",
}
"""Environment variables that lead into the private directory. XDG_CACHE_HOME does not: there are kernels of guests."""

PR_SET_CHILD_SUBREAPER = 36
MNT_DETACH = 2

libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def private_directory() -> Iterator[Path]:
    """Make a temporary directory for the command, which other users can write as /tmp, and remove it afterwards.

    Its name is short: a socket's path has 107 bytes at most.
    """
    path = Path(tempfile.mkdtemp(prefix="bt-")).resolve()
    path.chmod(0o1777)
    try:
        yield path
    finally:
        remove(path)


def environment(private: Path) -> dict[str, str]:
    """Return the command's environment."""
    return {**os.environ, RUN: private.name, **{name: str(private / place) for name, place in PRIVATE.items()}}


def remove(private: Path) -> list[str]:
    """Remove the private directory; return a sentence for each file that cannot be removed.

    Swap areas there are switched off first, which needs their name, and mounts are detached, so that nothing is removed
    that is mounted.
    """
    inside = f"{private}/"
    areas = [line.split()[0] for line in snapshot.lines("/proc/swaps")[1:]]
    places = [line.split()[4] for line in snapshot.lines("/proc/self/mountinfo")]
    for word in [*areas, *reversed(places)]:
        path = snapshot.unescaped(word)
        if path.startswith(inside):
            name = os.fsencode(path)
            if (libc.swapoff(name) if word in areas else libc.umount2(name, MNT_DETACH)) != 0:
                return [f"{path} cannot be removed: {os.strerror(ctypes.get_errno())}"]
    for folder, directories, _ in os.walk(private):
        for directory in (Path(folder, name) for name in directories):
            with suppress(OSError):
                if not directory.is_symlink():
                    directory.chmod(0o700)
    shutil.rmtree(private, ignore_errors=True)
    left = [Path(folder, name) for folder, below, plain in os.walk(private) for name in (*below, *plain)]
    return [f"file {path} of user {path.lstat().st_uid} cannot be removed" for path in left]


def run(command: Iterable[str], variables: Mapping[str, str]) -> int:
    """Run the command and return its exit code; orphans become children of this process."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    words = list(command)
    process: subprocess.Popen[bytes] | None = None
    ending = False

    def end_command(number: int, _frame: object) -> None:
        nonlocal ending
        # A terminal sends SIGINT to both.
        ending = ending or number != signal.SIGINT
        if ending and process is not None:
            terminate(process)

    # From here on what is left is looked after in any case.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end_command)
    try:
        process = subprocess.Popen(words, env=variables)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr)
        return CANNOT_RUN
    if ending:
        # The signal came before the process was known.
        terminate(process)
    # Only a signal with a handler wakes up.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with Wakeup() as wakeup:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == process.pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode if process.returncode >= 0 else 128 - process.returncode
            if pid == 0:
                wakeup.wait()


def survivors(identity: str) -> list[str]:
    """Wait for what the command has left running; end what does not end, and return a sentence for each."""
    begin = time.monotonic()
    deadline = begin + GRACE_S
    # A process that was begun while they were listed, by one that has ended since, is missing; it is our child now.
    while (left := processes(identity)) or reap():
        now = time.monotonic()
        if waiting_for_interrupts(left) and now < begin + PATIENCE_S:
            deadline = now + GRACE_S
        elif left and now >= deadline:
            break
        reap()
        time.sleep(PAUSE_S)
    sentences = []
    for pid in left:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            test = variable(pid, "PYTEST_CURRENT_TEST")
            # The words of one that has just ended are gone.
            if words or snapshot.has_not_ended(snapshot.stat_fields(pid)):
                name = words[:1000] or command_name(pid)
                sentences.append(
                    f"process {pid} is still there: {name}{f', from {test}' if test else ''} ({condition(pid)})"
                )
    for pid in left:
        with suppress(OSError):
            end(pid)
    return sentences


def condition(pid: int) -> str:
    """Return what tells why a process has not ended: its name, its state, its parent, where it waits in the kernel
    (proc_pid_wchan(5), proc_pid_stack(5)), and its open files."""
    state, parent, *_ = [*snapshot.stat_fields(pid), "?", "?"]
    place = "".join(snapshot.lines(f"/proc/{pid}/wchan"))
    stack = [line.split()[-1].partition("+")[0] for line in snapshot.lines(f"/proc/{pid}/stack")]
    words = [command_name(pid), f"state {state}", f"child of {parent}", f"waits in {' < '.join(stack) or place or '?'}"]
    for descriptor in snapshot.names(f"/proc/{pid}/fd"):
        with suppress(OSError):
            words.append(f"{descriptor}: {os.readlink(f'/proc/{pid}/fd/{descriptor}')}")
    return ", ".join(words)


def end(pid: int) -> None:
    """Kill a process and wait until it has ended, so that it writes nothing more."""
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        select.select([descriptor], [], [], ENDING_S)
    finally:
        os.close(descriptor)


def processes(identity: str) -> list[int]:
    """Return the processes of the command that have not ended: descendants, and those with its mark."""
    children: dict[int, list[int]] = {}
    marked = set()
    for pid in snapshot.numbers():
        fields = snapshot.stat_fields(pid)
        if snapshot.has_not_ended(fields):
            children.setdefault(int(fields[1]), []).append(pid)
            if variable(pid, RUN) == identity:
                marked.add(pid)
    descendants, left = [], [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        descendants += below
        left += below
    return [*descendants, *sorted(marked - set(descendants))]


def variable(pid: int, name: str) -> str:
    """Return a variable of the environment with which a process was started; empty where it has none."""
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(f"{name}=".encode()):
                return entry.partition(b"=")[2].decode(errors="replace")
    return ""


def waiting_for_interrupts(left: Iterable[int]) -> bool:
    """Return whether all of these only wait to give interrupts their masks back, which would stay narrow otherwise."""
    return bool(traces.returning()) and all(command_name(pid) in WAITERS for pid in left)


def command_name(pid: int) -> str:
    """Return the name of a process; empty when it has ended."""
    return "".join(snapshot.lines(f"/proc/{pid}/comm"))


def reap() -> bool:
    """Collect orphans that have ended; return whether there are others."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
        return True
    return False


def compare(before: snapshot.Snapshot, private: Path, excuses: traces.Excuses) -> tuple[list[str], list[str]]:
    """Return what the command has left, and what others have changed.

    Differences that can be ours are looked at for a while: ours stay, because nobody is left to remove them.
    """
    begin = time.monotonic()
    while True:
        ours, others = traces.traces(before, snapshot.snapshot(), str(private), excuses.after())
        if not ours or time.monotonic() - begin >= GRACE_S:
            return ours, others
        time.sleep(PAUSE_S)


def report(ours: list[str], others: list[str]) -> str:
    """Return what is printed of differences."""
    text = ""
    if ours:
        count = f"{len(ours)} difference{'s' * (len(ours) > 1)}"
        text = "\n".join(["", f"The machine is not as it was before. {count}:", *(f"  {line}" for line in ours), ""])
    if others:
        rest = len(others) - MOST_LINES
        more = [f"and {rest} more"] if rest > 0 else []
        listed = (f"  {line}" for line in [*others[:MOST_LINES], *more])
        text += "\n".join(["", "Changed meanwhile, not by these tests:", *listed, ""])
    return text


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code, or 1 when it has left something."""
    if arguments[:1] != ["--"] or not arguments[1:]:
        print("usage: tools/unchanged.py -- COMMAND…", file=sys.stderr)
        return 2
    # Until the command runs, these remove the private directory and end.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    with private_directory() as private:
        before, excuses = snapshot.snapshot(), traces.Excuses.before()
        code = run(arguments[1:], environment(private))
        left = survivors(private.name)
        ours, others = compare(before, private, excuses)
        ours = [*left, *ours, *remove(private)]
    print(report(ours, others), end="", file=sys.stderr)
    return code or int(bool(ours))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
