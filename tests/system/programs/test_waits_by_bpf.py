"""Waits for a CPU and traffic over the network, counted by programs in the kernel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import missing, need

import becalm
from becalm.errors import MachineError, UsageError
from becalm.load.others import Others

BUSY = [sys.executable, "-S", "-c", "while True: pass"]
WORK = [sys.executable, "-S", "-c", "for _ in range(3_000_000): pass"]


@pytest.fixture
def run():
    """Return a function that measures a program on one CPU, and returns what it waited for."""
    need("clang")
    cpu = max(os.sched_getaffinity(0))

    def measure(command, **options):
        try:
            verdict = becalm.run(command, runs=4, by="bpf", settings={"cpus": str(cpu)}, store=False, **options)
        except (MachineError, UsageError) as error:
            if "built without" in str(error):
                missing(f"{error} (make bpf)")
            pytest.skip(str(error))
        return next((finding.numbers for finding in verdict.findings if finding.kind == "waits"), None)

    measure.cpu = cpu
    return measure


@pytest.fixture
def records(run, monkeypatch):
    """Return the records that arrive while the tests measure."""
    arrived = []
    read = Others.from_json

    def recorded(value):
        arrived.append(read(value))
        return arrived[-1]

    monkeypatch.setattr(Others, "from_json", staticmethod(recorded))
    return arrived


def counted(records):
    """Return the processes that ran while the program waited. On a busy machine they may be too many to be named."""
    return [use for record in records for use in record.waits.taken if use.amount]


def test_the_process_that_ran_on_the_cpu_is_counted_by_its_number(run, records):
    with subprocess.Popen(BUSY, preexec_fn=lambda: os.sched_setaffinity(0, {run.cpu})) as busy:
        try:
            waits = run(WORK)
        finally:
            busy.kill()
    assert busy.pid in {use.pid for use in counted(records)}
    assert waits["others_ns"] > 0
    for culprit in waits["culprits"]:
        assert culprit["basis"] == "counted"
        assert culprit["low"] == culprit["high"]


SET_UP = """
import fcntl, socket, struct
# The loopback device of a network of its own, up, with the addresses 10.0.0.0/8.
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(control, 0x8916, struct.pack("16sH2x4s8x", b"lo", socket.AF_INET, socket.inet_aton("10.9.0.1")))
fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
server = socket.create_server(("10.9.0.1", 0))
"""

TALK = """
address = server.getsockname()
client = socket.create_connection(address, source_address=("10.9.0.2", 0))
taken, _ = server.accept()
same = socket.create_connection(address, source_address=("10.9.0.1", 0))
same.sendall(b"x" * 5000)
near, far = socket.socketpair()
near.sendall(b"x" * 5000)
client.sendall(b"x" * 1000)
taken.recv(1, socket.MSG_PEEK)
left = 1000
while left:
    left -= len(taken.recv(left))
"""


def test_bytes_of_a_program_over_the_network_are_counted_exactly(run, records):
    """Check that neither bytes of the machine to itself count, nor those that were only looked at."""
    run(["unshare", "-n", sys.executable, "-S", "-c", SET_UP + TALK])
    assert all(received == sent and sent % 1000 == 0 for received, sent in (record.network.own for record in records))
    assert sum(sum(record.network.own) for record in records) > 0


def test_bytes_of_other_processes_over_the_network_are_theirs(run, records):
    with subprocess.Popen(
        ["unshare", "-n", sys.executable, "-S", "-c", f"{SET_UP}while input(): exec({TALK!r}); print(flush=True)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        try:
            # The program lets the other process send, and waits until it has.
            script = f"echo go >/proc/{other.pid}/fd/0; read line </proc/{other.pid}/fd/1"
            run(["sh", "-c", script])
        finally:
            other.kill()
    movers = [mover for record in records for mover in record.network.movers if mover.pid == other.pid]
    assert movers
    assert {mover.read_bytes % 1000 for mover in movers} == {0} == {mover.written_bytes % 1000 for mover in movers}


def test_a_program_that_runs_alongside_is_one_of_the_others(run, records):
    waits = run(WORK, alongside=" ".join(f"'{word}'" for word in BUSY), alongside_cpus=str(run.cpu))
    assert Path(sys.executable).name[:15] in {use.name for use in counted(records)}
    assert waits["others_ns"] > 0


def test_waits_of_a_program_for_its_own_tasks_are_its_own(run):
    words = " ".join(f"'{word}'" for word in WORK)
    waits = run(["sh", "-c", f"{words} & {words} & {words}; wait"])
    assert waits["own_ns"] > 0
    assert all(culprit["basis"] == "counted" for culprit in waits["culprits"])
