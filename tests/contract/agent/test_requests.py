"""Requests to the agent: answered, refused, stopped; and the end of the conversation is the end of the program."""

import json
import os
import resource
import select
import signal
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, gather, processes_with, sh
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm import hosts
from becalm.errors import MachineError
from becalm.hosts.agent import agent_path
from becalm.hosts.greeting import PROTOCOL
from becalm.nouns.run import COLUMNS
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


def test_greeting(agent):
    assert agent.greeting["protocol"] == PROTOCOL
    assert tuple(agent.greeting["columns"]) == COLUMNS
    assert agent.greeting["pid"] == agent.process.pid
    assert agent.greeting["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.mark.parametrize("how", ["close", signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_its_end_is_the_end_of_everything_it_started(how, marker):
    agent = Agent()
    agent.define(*sh(f"setsid sleep {marker} & sleep {marker}"))
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: len(processes_with(f"sleep\0{marker}")) == 2)
    if how == "close":
        agent.process.stdin.close()
    else:
        agent.process.send_signal(how)
    assert agent.process.wait(timeout=HANG_LIMIT_S) == 0
    assert processes_with(marker) == []


def test_a_killed_agent_takes_the_program_with_it(marker):
    agent = Agent()
    agent.define("sleep", marker)
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: processes_with(marker))
    agent.process.kill()
    agent.process.wait()
    wait_for(lambda: not processes_with(marker))


def test_stop_aborts_the_run_and_the_agent_goes_on(agent, marker):
    agent.define("sleep", marker)
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0], [0, 0, 0, 1]])
    wait_for(lambda: processes_with(marker))
    agent.write(b'{"id":99,"do":"stop"}\n')
    rows, _ = gather(agent.answer(number))
    assert [row["outcome"] for row in rows] == ["aborted"]
    assert processes_with(marker) == []
    assert agent.run("true")[0][0]["outcome"] == "ok"


def test_a_stop_that_comes_with_its_block_ends_it(agent, tmp_path):
    log = tmp_path / "log"
    agent.define(*sh(f"echo ran >> {log}"))
    block = {"id": 50, "do": "measure", "first": 0, "steps": [[0, 0, 0, i] for i in range(200)]}
    both = json.dumps(block).encode() + b'\n{"id":51,"do":"stop"}\n'
    # A pipe takes so much in one piece (pipe(7), PIPE_BUF), and the agent reads it in one.
    assert len(both) <= select.PIPE_BUF
    agent.write(both)
    answers = {}
    while set(answers) < {50, 51}:
        event = agent.read()
        if event["event"] != "runs":
            answers[event["id"]] = event
    assert (answers[50]["event"], answers[51]["event"]) == ("done", "done")
    assert answers[50]["ran"] <= 1
    assert not log.exists() or len(log.read_text().splitlines()) == answers[50]["ran"]
    rows, _ = agent.run(*sh(f"echo ran >> {log}"), steps=3)
    assert len(rows) == 3, "a stop ends its own block, no other"


def test_padding_that_does_not_fit_is_refused_before_anything_runs(agent, tmp_path):
    log = tmp_path / "log"
    agent.define(*sh(f"echo ${{#BECALM_PADDING}} >> {log}"))
    largest = 1 << 16
    refused = agent.ask("measure", first=0, steps=[[0, 0, 0, 0], [0, 0, largest + 1, 1]])
    assert (refused["event"], refused["kind"]) == ("error", "domain")
    assert str(largest + 1) in refused["message"]
    assert not log.exists()
    assert agent.ask("measure", first=0, steps=[[0, 0, largest, 0]])["ran"] == 1
    assert log.read_text() == f"{largest}\n"


def test_a_block_that_breaks_off_leaves_no_program(agent, marker):
    agent.define(
        *sh(f"setsid sleep {marker} & until [ -e /proc/$!/stat ]; do :; done; echo; sleep {marker}"), output="inherit"
    )
    # Its reader goes away: the agent cannot go on with this block.
    agent.process.stdout.close()
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    assert agent.process.wait(timeout=HANG_LIMIT_S) == 0
    assert processes_with(marker) == []


LONGEST = 64 << 20
"""Bytes of the longest request (docs/reference/protocol.md)."""


def test_a_line_that_is_too_long_is_refused_and_costs_only_itself(agent, gate):
    number = agent.begin(*sh(gate.wait))
    agent.write(b" " * (LONGEST + 1))
    gate.open()
    # It comes while a program runs, and its end after that.
    rows, _ = gather(agent.answer(number))
    assert [row["outcome"] for row in rows] == ["ok"]
    agent.write(b"\n")
    event = agent.read()
    assert (event["id"], event["event"], event["kind"]) == (None, "error", "protocol")
    assert "64 MiB" in event["message"]
    assert agent.run("true")[0][0]["outcome"] == "ok"


def test_becalm_reports_a_request_that_is_too_long():
    with hosts.open("local") as host, pytest.raises(MachineError, match="64 MiB"):
        host.define([Workload.of(["true", "x" * (LONGEST + 1)])], [Settings()])


def test_the_longest_line_is_served(agent):
    stop = b'{"id":77,"do":"stop"}'
    agent.write(b" " * (LONGEST - len(stop)) + stop + b"\n")
    assert agent.answer(77)[-1]["event"] == "done"


@pytest.mark.parametrize("first", [2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_runs_are_not_numbered_beyond_63_bits(agent, first):
    agent.define("true")
    refused = agent.ask("measure", first=first, steps=[[0, 0, 0, index] for index in range(2)])
    assert (refused["event"], refused["kind"]) == ("error", "domain")
    assert str(2**63 - 1) in refused["message"]
    last = agent.answer(agent.send("measure", first=2**63 - 3, steps=[[0, 0, 0, index] for index in range(2)]))
    assert [row["seq"] for row in gather(last)[0]] == [2**63 - 3, 2**63 - 2]


def test_requests_that_come_during_a_block_are_answered_after_it(agent, gate):
    number = agent.begin(*sh(gate.wait))
    later = agent.send("knobs")
    gate.open()
    assert agent.answer(number)[-1]["ran"] == 1
    assert {knob["name"] for knob in agent.answer(later)[-1]["knobs"]} >= {"nice", "cpus", "aslr"}


@pytest.mark.parametrize(
    "line",
    [b" ", b"{", b"[]", b"3", b"\xff\xfe", b'{"id":-1,"do":"stop"}', b'{"do":"stop"}', b'{"id":7}',
     b'{"id":7,"do":"dance"}', b'{"id":7,"do":"stop","now":true}', b'{"id":7,"do":"measure","first":0,"steps":[[0]]}',
     b'{"id":7,"do":"measure","first":0,"steps":[[9,9,0,0]]}', b'{"id":7,"do":"open","protocol":99}',
     b'{"id":7,"do":"define","workloads":[{"argv":[],"x":1}],"settings":[]}', b"[" * 100000],
)  # fmt: skip
def test_malformed_requests_are_answered_and_survived(agent, line):
    agent.write(line + b"\n")
    event = agent.read()
    assert event["event"] == "error"
    assert event["kind"]
    assert event["message"].endswith(".")
    assert agent.run("true")[0][0]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"argv": ["no-such-program"]}, "not_found", "no-such-program"),
        ({"argv": ["/etc/passwd"]}, "not_executable", "chmod"),
        ({"argv": ["/etc"]}, "not_executable", "directory"),
        ({"argv": []}, "usage", "argument list is empty"),
        ({"argv": ["true"], "directory": "/no/dir"}, "not_found", "/no/dir"),
        ({"argv": ["true"], "input": "/no/file"}, "not_found", "/no/file"),
        ({"argv": ["true"], "prepare": ["no-such"]}, "not_found", "no-such"),
        ({"argv": ["a\0b"]}, "usage", "zero byte"),
        ({"argv": [{"hex": "zz"}]}, "usage", "hexadecimal"),
    ],
)
def test_a_program_that_cannot_run_is_reported_by_define(agent, fields, kind, words):
    event = agent.ask("define", workloads=[fields], settings=[{}])
    assert (event["event"], event["kind"]) == ("error", kind)
    assert words in event["message"]


@pytest.mark.parametrize(
    ("content", "words"), [("echo hi\n", "#!"), ("#!/no/such/interpreter\n", "/no/such/interpreter"), ("", "#!")]
)
def test_a_script_that_cannot_be_started_is_refused(agent, tmp_path, content, words):
    script = tmp_path / "script"
    script.write_text(content)
    script.chmod(0o755)
    (row,), texts = agent.run(str(script))
    assert row["outcome"] == "refused"
    assert words in texts[0]["stderr"]


def test_the_spool_has_every_finished_run_at_once(tmp_path):
    path = tmp_path / "spool"
    with path.open("w+b") as spool:
        agent = Agent("--spool-fd", str(spool.fileno()), pass_fds=[spool.fileno()])
        agent.define("sleep", "0.001")
        agent.send("measure", first=5, steps=[[0, 0, 0, i] for i in range(100_000)])
        wait_for(lambda: path.read_bytes().count(b"\n") > 20)
        agent.process.kill()
        agent.process.wait()
    rows = [json.loads(line)["rows"] for line in path.read_bytes().splitlines() if line.endswith(b"}")]
    assert [row[0][0] for row in rows] == list(range(5, 5 + len(rows)))


def test_a_spool_on_a_full_disk_is_reported_and_costs_no_run(tmp_path):
    path = tmp_path / "spool"

    def no_room():
        # Writing beyond the limit is an error, as on a full disk, and no signal.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with path.open("wb") as spool:
        agent = Agent("--spool-fd", str(spool.fileno()), pass_fds=[spool.fileno()], preexec_fn=no_room)
        agent.define("true")
        events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0], [0, 0, 0, 1]]))
        assert len(gather(events)[0]) == 2
        assert events[-1]["kind"] == "system"
        assert "disk space" in events[-1]["message"]
        agent.close()


def ended(*options, **popen):
    """Return the standard error of an agent that ends before its greeting."""
    process = subprocess.Popen(
        [agent_path(), "serve", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )
    greeting, why = process.communicate(timeout=HANG_LIMIT_S)
    assert (process.returncode, greeting) == (3, "")
    return why


@pytest.mark.parametrize("read", [False, True])
def test_a_spool_that_is_a_pipe_is_refused(tmp_path, read):
    """Opening it would wait for a reader, and writing for its reading."""
    path = tmp_path / "spool"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if read else None
    why = ended("--spool", str(path))
    assert f"{path} cannot be opened" in why
    assert ("regular file" in why) == read
    if reader is not None:
        os.close(reader)


def test_a_spool_that_is_a_numbered_pipe_or_a_link_is_refused(tmp_path):
    ours, its = os.pipe()
    assert "regular file" in ended("--spool-fd", str(its), pass_fds=[its])
    os.close(ours)
    os.close(its)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert "link" in ended("--spool", str(tmp_path / "link"))


def test_overhead_is_measured_both_ways(agent):
    answer = agent.ask("overhead", runs=20)
    assert len(answer["bare_ns"]) == len(answer["own_ns"]) == 20
    assert min(answer["bare_ns"] + answer["own_ns"]) > 0


def test_the_agent_is_linked_statically():
    done = subprocess.run(["ldd", agent_path()], capture_output=True, text=True)
    assert "statically linked" in done.stdout or "not a dynamic executable" in done.stderr
