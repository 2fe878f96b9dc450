"""A conversation with a real agent, as docs/reference/protocol.md has it, and what its tests ask the machine."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

from becalm.hosts.agent import agent_path
from becalm.nouns.run import COLUMNS


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
        self.number += 1
        self.write(json.dumps({"id": self.number, "do": do, **fields}).encode() + b"\n")
        return self.number

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def answer(self, number):
        """All events of a request up to its last one."""
        events = []
        while True:
            event = self.read()
            if event.get("id") == number:
                events.append(event)
                if event["event"] in ("done", "error"):
                    return events

    def ask(self, do, **fields):
        return self.answer(self.send(do, **fields))[-1]

    def define(self, *argv, settings=None, **fields):
        return self.ask("define", workloads=[{"argv": list(argv), **fields}], settings=[settings or {}])

    def run(self, *argv, steps=1, settings=None, stop_on_failure=False, **fields):
        """Rows (as dictionaries) and texts of a workload's runs."""
        defined = self.define(*argv, settings=settings, **fields)
        assert defined["event"] == "done", defined
        number = self.send(
            "measure", first=0, steps=[[0, 0, 0, i] for i in range(steps)], stop_on_failure=stop_on_failure
        )
        return gather(self.answer(number))

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()
        self.process.stderr.close()


def gather(events):
    rows = [dict(zip(COLUMNS, row, strict=True)) for e in events if e["event"] == "runs" for row in e["rows"]]
    texts = {e["seq"]: e for e in events if e["event"] == "text"}
    return rows, texts


def sh(script):
    return ("/bin/sh", "-c", script)


def processes_with(marker):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def wait_for(condition):
    """The time is a limit for a broken program, not an expectation."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("the condition never held")
