"""A conversation with a real agent (docs/reference/protocol.md), and what tests ask the machine about processes."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts.agent import agent_path
from becalm.nouns.run import COLUMNS

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: run the tests as root")


class Agent:
    """A conversation with a real agent."""

    def __init__(self, *options, environment=None, **popen):
        self.process = subprocess.Popen(
            [agent_path(), "serve", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **popen,
        )
        self.greeting = self.read()
        self.number = 0
        self.ask("open", protocol=self.greeting["protocol"], environment=environment or dict(os.environ), directory="/")

    def send(self, do, **fields):
        """Send a request and return its number."""
        self.number += 1
        self.write(json.dumps({"id": self.number, "do": do, **fields}).encode() + b"\n")
        return self.number

    def write(self, data):
        """Send bytes."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self):
        """Return the next event."""
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def answer(self, number):
        """Return all events of a request up to its last."""
        events = []
        while True:
            event = self.read()
            if event.get("id") == number:
                events.append(event)
                if event["event"] in ("done", "error"):
                    return events

    def ask(self, do, **fields):
        """Return the last event of a request."""
        return self.answer(self.send(do, **fields))[-1]

    def define(self, *argv, settings=None, **fields):
        """Define one workload with one list of settings; return the last event."""
        return self.ask("define", workloads=[{"argv": list(argv), **fields}], settings=[settings or {}])

    def begin(self, *argv, settings=None, steps=1, **fields):
        """Define a workload and send the request to run it; return the number of that request."""
        defined = self.define(*argv, settings=settings, **fields)
        assert defined["event"] == "done", defined
        return self.send("measure", first=0, steps=[[0, 0, 0, index] for index in range(steps)], stop_on_failure=False)

    def run(self, *argv, **fields):
        """Run a workload; return the rows (as dictionaries) and texts of its runs."""
        return gather(self.answer(self.begin(*argv, **fields)))

    def close(self):
        """End the conversation, and with it the agent."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=HANG_LIMIT_S)
        self.process.stdout.close()
        self.process.stderr.close()


def gather(events):
    """Return the rows (as dictionaries) and the texts by number of runs among events."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for e in events if e["event"] == "runs" for row in e["rows"]]
    texts = {e["seq"]: e for e in events if e["event"] == "text"}
    return rows, texts


def observed(agent, *argv, steps=1, load="totals", settings=None, **fields):
    """Return rows, records of load, series (all as dictionaries) and the `done` of a block with load observed."""
    defined = agent.define(*argv, settings=settings, **fields)
    assert defined["event"] == "done", defined
    steps = [[0, 0, 0, index] for index in range(steps)]
    events = agent.answer(agent.send("measure", first=0, steps=steps, load=load))
    assert events[-1]["event"] == "done", events[-1]
    return gather(events)[0], loads_in(agent, events), [e for e in events if e["event"] == "series"], events[-1]


def loads_in(agent, events):
    """Return the records of load among events, as dictionaries."""
    columns = agent.greeting["load_columns"]
    return [dict(zip(columns, row, strict=True)) for e in events if e["event"] == "loads" for row in e["rows"]]


def cpu_ns(run):
    """Return the CPU time of a run."""
    return run["user_ns"] + run["system_ns"]


def sh(script):
    """Return the argument list of a shell script."""
    return ("/bin/sh", "-c", script)


def spinning(seconds):
    """Return the argument list of a program that computes until it has used so much CPU time."""
    return (sys.executable, "-S", "-c", f"import time\nwhile time.process_time() < {seconds}: pass")


@contextlib.contextmanager
def spinners(count, cpu):
    """Keep programs that do nothing but run in this session, each bound to a CPU; yield their processes."""
    command = ["/bin/sh", "-c", "echo; while :; do :; done"]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        for _ in range(count)
    ]
    try:
        for process in started:
            process.stdout.readline()
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


class Gate:
    """A fifo at which programs wait until the test lets them go on; `wait` is what a shell does for that."""

    def __init__(self, path):
        self.path, self.wait = path, f"read go < {path}"
        os.mkfifo(path)
        # Never without a writer and a reader, so that nobody waits for the other end or reads the end of the file.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def open(self, count=1000):
        """Let so many programs go on, those that wait and those that will come."""
        os.write(self._descriptor, b"\n" * count)

    def close(self):
        """Let go of the fifo."""
        os.close(self._descriptor)


def processes_with(marker, name=None):
    """Return the numbers of the processes that have a text in their argument list, with this name or of any name."""
    numbers = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes() and name in (None, name_of(int(entry.name))):
                    numbers.append(int(entry.name))
    return numbers


def children(pid):
    """Return the numbers of the children of a process; none when there is no such process."""
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def alive(pid):
    """Return whether a process runs or could: it has not ended, whoever waits for it."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def numbers_in(path):
    """Return the numbers in a file of complete lines; none when there is no such file."""
    with contextlib.suppress(OSError):
        return [int(word) for word in path.read_text().rpartition("\n")[0].split()]
    return []


def spawner(agent):
    """Return the number of the process that starts programs, a child of the agent."""
    return child_named(agent, "becalm-spawner")


def child_named(agent, name):
    """Return the number of a child of the agent, which gives itself its name some time after it has begun."""

    def named():
        return [pid for pid in children(agent.process.pid) if name_of(pid) == name]

    return wait_for(named, f"there is a {name}")[0]


def name_of(pid):
    """Return the name of a process; empty when there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def unified_group():
    """Return the directory of this process's group of version 2; None where it is not mounted or not writable."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [words[4] for words in mounts if words[words.index("-") + 1] == "cgroup2"]
    groups = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not points or not groups:
        return None
    directory = Path(points[0] + groups[0])
    control = directory / "cgroup.subtree_control"
    return directory if os.access(directory, os.W_OK) and "cpu" not in control.read_text().split() else None
