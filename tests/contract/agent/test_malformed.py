"""Two hundred thousand lines that are no requests: each is answered with an error, and nothing else happens."""

import json
import random
import threading
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent
from tests.contract.restore.laptop import laptop, snapshot, strays

LINES = 200_000


def requests(marker):
    """One of each kind that would do something: start a program, change the machine, end the agent."""
    run = {"argv": ["touch", str(marker)], "timeout_ns": 10**9, "environment": {"A": "é"}, "expect": [0]}
    settings = {"swappiness": 59, "stat_interval": 20}
    return [
        {"do": "open", "protocol": 2, "environment": {"PATH": "/bin"}, "directory": "/", "title": "x"},
        {"do": "define", "workloads": [run], "settings": [{}, settings], "dangerous": True},
        {
            "do": "measure",
            "first": 0,
            "steps": [[0, 0, 0, 0], [0, 1, 64, 1]],
            "stop_on_failure": False,
            "load": "totals",
        },
        {"do": "hold", "settings": settings, "dangerous": True, "keep": True},
        {"do": "plan", "settings": settings, "dangerous": False},
        {"do": "boot", "parameters": ["isolcpus=1"], "limit_s": 600, "dangerous": True},
        {"do": "follow", "pid": 1, "period_ns": 10**9, "sources": ["stat"]},
        {"do": "read", "sources": ["stat", "loadavg"], "changes": True},
        {"do": "overhead", "runs": 10},
        {"do": "restore", "force": True},
        {"do": "release"},
        {"do": "reboot"},
        {"do": "stop"},
        {"do": "bye"},
    ]


class Broken:
    """Lines that cannot be requests, by the seed."""

    def __init__(self, seed, marker):
        self.rng = random.Random(seed)
        self.whole = requests(marker)
        self.ways = [self.cut, self.byte, self.number, self.name, self.unknown, self.kind, self.other]

    def line(self):
        made = self.rng.choice(self.ways)(dict(self.rng.choice(self.whole), id=self.rng.randrange(2**32)))
        return made if isinstance(made, bytes) else json.dumps(made).encode()

    def cut(self, request):
        """No beginning of an object is a whole one."""
        line = json.dumps(request).encode()
        return line[: self.rng.randrange(1, len(line))]

    def byte(self, request):
        """A byte that no JSON holds, in any place."""
        line = bytearray(json.dumps(request).encode())
        wrong = self.rng.choice([*range(9), *range(14, 32), 127, *range(128, 256)])
        line[self.rng.randrange(len(line))] = wrong if wrong != 127 else 0xFF
        return bytes(line)

    def number(self, request):
        """No number that an answer could carry."""
        request["id"] = self.rng.choice([-1, 2**64, 1.5, "7", None, [], {}, True, 10**400])
        if self.rng.random() < 0.1:
            del request["id"]
        return request

    def name(self, request):
        """Nothing that the agent does."""
        request["do"] = self.rng.choice(
            ["", "Hold", "hold ", "shell", "exec", "\0", "é", 7, None, ["hold"], {"hold": 1}]
        )
        return request

    def unknown(self, request):
        """A field that is not in the protocol."""
        request[self.rng.choice(["force_", "Settings", "", "shell", "do\0", "x" * 300])] = self.rng.choice(
            [1, None, "x"]
        )
        return request

    def kind(self, request):
        """A field of another type, or one that is missing."""
        names = [name for name in request if name not in ("id", "do")]
        if not names:
            return self.unknown(request)
        wrong = [-1, 1.5, 2**70, [[[[]]]], {"": {"": []}}, "\ud800" * 3, [None]]
        # A title is any text, and a list of sources may hold nothing.
        request[self.rng.choice(names)] = self.rng.choice(wrong[:3])
        return request if self.refuses(request) else self.unknown(request)

    @staticmethod
    def refuses(request):
        """Whether a number is refused where it was put: not where one is asked for that is so large or small."""
        return not any(
            isinstance(request.get(name), int) and 0 <= request[name] < 2**64
            for name in ("first", "limit_s", "runs", "protocol")
        )

    def other(self, request):
        """JSON, but no object; or none at all."""
        deep = self.rng.choice([10, 127, 128, 1000, 20_000]) if self.rng.random() < 0.05 else 10
        return self.rng.choice(
            [
                b"[" * deep,
                b'{"a":' * deep,
                b"[" * deep + b"]" * deep,
                b"null",
                b"NaN",
                b'"hold"',
                b"3",
                b" ",
                b"\xef\xbb\xbf{}",
                b"{}" * 2,
                b"'" + json.dumps(request).encode() + b"'",
                b"x" * self.rng.randrange(1, 4000),
            ]
        )


def high_water_kib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def test_lines_that_are_no_requests_do_nothing(tmp_path):
    root, marker = laptop(tmp_path / "root"), tmp_path / "ran"
    before = snapshot(root)
    agent = Agent("--root", str(root))
    broken = Broken(20261122, marker)
    lines = b"".join(broken.line() + b"\n" for _ in range(LINES))
    # Most of them come while a program runs, and wait until it has ended.
    agent.define("sleep", "2")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])

    def write():
        agent.process.stdin.write(lines)
        agent.process.stdin.flush()

    writing = threading.Thread(target=write)
    started = time.monotonic()
    writing.start()
    kinds, events = {}, 0
    while events < LINES:
        event = json.loads(agent.process.stdout.readline())
        if event.get("id") == number and event["event"] in ("runs", "done"):
            continue
        assert event["event"] == "error", event
        kinds[event["kind"]] = kinds.get(event["kind"], 0) + 1
        assert event["message"].endswith(".")
        events += 1
    writing.join()
    assert time.monotonic() - started < 60, "seconds, for one whose time grows with the square"
    assert set(kinds) == {"protocol"}, kinds
    # Lines that wait take what they are long, and no more is read when too many wait.
    assert high_water_kib(agent.process.pid) < 128 * 1024
    assert not marker.exists(), "no program was started"
    assert snapshot(root) == before, "nothing was changed"
    assert agent.run("true")[0][0]["outcome"] == "ok", "and it still serves"
    children = Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()
    assert len(children) == 1, "the spawner alone"
    agent.process.stdin.close()
    assert agent.process.wait(timeout=120) == 0
    agent.process.stdout.close()
    assert agent.process.stderr.read() == b"", "not a word of a panic"
    agent.process.stderr.close()
    assert strays(root) == []
