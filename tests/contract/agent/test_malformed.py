"""Lines that are not requests: each is answered with an error, and nothing else happens."""

import json
import random
import threading
from pathlib import Path

from tests.contract.conversation import Agent, children, sh
from tests.samples import samples
from tests.support.laptop import laptop, snapshot, strays
from tests.waiting import HANG_LIMIT_S

LINES = samples(20_000, 200_000)


def requests(marker):
    """Return a request of each kind that would do something: start a program, change the machine, end the agent."""
    run = {"argv": ["touch", str(marker)], "timeout_ns": 10**9, "environment": {"A": "é"}, "expect": [0]}
    settings = {"swappiness": 59, "stat_interval": 20}
    return [
        {"do": "open", "protocol": 1, "environment": {"PATH": "/bin"}, "directory": "/", "title": "x"},
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
    """A source of lines that cannot be requests, drawn by a seed."""

    def __init__(self, seed, marker):
        self.rng = random.Random(seed)
        self.whole = requests(marker)
        self.ways = [self.cut, self.byte, self.number, self.name, self.unknown, self.kind, self.other]

    def line(self):
        """Return the next line."""
        line = self.rng.choice(self.ways)(dict(self.rng.choice(self.whole), id=self.rng.randrange(2**32)))
        return line if isinstance(line, bytes) else json.dumps(line).encode()

    def cut(self, request):
        """Cut a request: the beginning of an object is not an object."""
        line = json.dumps(request).encode()
        return line[: self.rng.randrange(1, len(line))]

    def byte(self, request):
        """Put a byte that no JSON holds in any place."""
        line = bytearray(json.dumps(request).encode())
        wrong = self.rng.choice([*range(9), *range(14, 32), 127, *range(128, 256)])
        line[self.rng.randrange(len(line))] = wrong if wrong != 127 else 0xFF
        return bytes(line)

    def number(self, request):
        """Put a number that an answer could not carry."""
        request["id"] = self.rng.choice([-1, 2**64, 1.5, "7", None, [], {}, True, 10**400])
        if self.rng.random() < 0.1:
            del request["id"]
        return request

    def name(self, request):
        """Name something that the agent does not do."""
        request["do"] = self.rng.choice(
            ["", "Hold", "hold ", "shell", "exec", "\0", "é", 7, None, ["hold"], {"hold": 1}]
        )
        return request

    def unknown(self, request):
        """Add a field that is not in the protocol."""
        request[self.rng.choice(["force_", "Settings", "", "shell", "do\0", "x" * 300])] = self.rng.choice(
            [1, None, "x"]
        )
        return request

    def kind(self, request):
        """Give a field another type, or leave one out."""
        names = [name for name in request if name not in ("id", "do")]
        if not names:
            return self.unknown(request)
        wrong = [-1, 1.5, 2**70, [[[[]]]], {"": {"": []}}, "\ud800" * 3, [None]]
        # A title is any text, and a list of sources may hold nothing.
        request[self.rng.choice(names)] = self.rng.choice(wrong[:3])
        return request if self.refuses(request) else self.unknown(request)

    @staticmethod
    def refuses(request):
        """Return whether the number is refused in its field: it is not where a field takes numbers of its size."""
        return not any(
            isinstance(request.get(name), int) and 0 <= request[name] < 2**64
            for name in ("first", "limit_s", "runs", "protocol")
        )

    def other(self, request):
        """Return JSON that is not an object, or no JSON at all."""
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
    """Return the peak memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def test_lines_that_are_not_requests_do_nothing(tmp_path, gate):
    root, marker = laptop(tmp_path / "root"), tmp_path / "ran"
    before = snapshot(root)
    agent = Agent("--root", str(root))
    broken = Broken(20261122, marker)
    lines = [broken.line() + b"\n" for _ in range(LINES)]
    # The first half comes while a program runs, and waits until it has ended.
    number = agent.begin(*sh(gate.wait))
    agent.write(b"".join(lines[: LINES // 2]))
    gate.open()
    writing = threading.Thread(target=agent.write, args=(b"".join(lines[LINES // 2 :]),))
    writing.start()
    kinds, events = set(), 0
    while events < LINES:
        event = json.loads(agent.process.stdout.readline())
        if event.get("id") == number and event["event"] in ("runs", "done"):
            continue
        assert event["event"] == "error", event
        kinds.add(event["kind"])
        assert event["message"].endswith(".")
        events += 1
    writing.join()
    assert kinds == {"protocol"}
    # Lines that wait take what they are long, and no more is read when too many wait.
    assert high_water_kib(agent.process.pid) < 128 * 1024
    assert not marker.exists(), "no program was started"
    assert snapshot(root) == before, "nothing was changed"
    assert agent.run("true")[0][0]["outcome"] == "ok", "and it still serves"
    assert len(children(agent.process.pid)) == 2, "the spawners only"
    agent.process.stdin.close()
    assert agent.process.wait(timeout=HANG_LIMIT_S) == 0
    agent.process.stdout.close()
    assert agent.process.stderr.read() == b"", "not a word of a panic"
    agent.process.stderr.close()
    assert strays(root) == []
