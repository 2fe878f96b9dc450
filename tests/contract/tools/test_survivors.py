"""Processes that a command leaves, however they detached themselves, are waited for, named and ended."""

import os
import shutil
import signal
import subprocess

import pytest
from tests.contract.conversation import alive
from tests.contract.tools.unchanged_tool import ALWAYS, AT_ONCE, PROCESSES_ONLY, Tool, run, shell
from tests.waiting import HANG_LIMIT_S


@pytest.fixture
def hello(tmp_path):
    """A FIFO that a program opens as its first file: whoever has written to it knows that the program runs."""
    path = tmp_path / "hello"
    os.mkfifo(path)
    return path


def test_the_exit_code_is_the_commands_when_nothing_is_left():
    assert run("true", patches=[PROCESSES_ONLY]) == (0, "")
    assert shell("exit 7", patches=[PROCESSES_ONLY]) == (7, "")
    assert shell("kill -9 $$", patches=[PROCESSES_ONLY]) == (137, "")
    assert run("no-such-program", patches=[PROCESSES_ONLY]) == (127, "no-such-program: No such file or directory\n")


def test_a_signal_before_the_command_runs_removes_the_private_directory(tmp_path):
    signalled = "snapshot.snapshot = lambda: os.kill(os.getpid(), signal.SIGTERM)"
    assert run("true", patches=["import os, signal", signalled], TMPDIR=str(tmp_path)) == (143, "")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_detached_itself_is_named_with_its_test_and_ended(hello, gate):
    code, report = shell(
        f"setsid sh -c 'head -n 1 {hello} {gate.path} >/dev/null 2>&1 & exit 0'; echo > {hello}",
        patches=[PROCESSES_ONLY, AT_ONCE],
        PYTEST_CURRENT_TEST="tests/a.py::test_b (call)",
    )
    assert code == 1
    (line,) = (line for line in report.splitlines() if "process" in line)
    assert f"is still there: head -n 1 {hello} {gate.path}, from tests/a.py::test_b (call) (head, state " in line
    assert ", 1: /dev/null, 2: /dev/null" in line
    assert not alive(int(line.split()[1])), "it has ended when this is reported"


def test_a_process_with_the_mark_of_the_run_is_ended_though_it_is_no_descendant(tmp_path):
    tool = Tool("sh", "-c", "echo $BECALM_TEST_RUN; read line", patches=[PROCESSES_ONLY, AT_ONCE])
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, "BECALM_TEST_RUN": tool.line()})
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, "BECALM_TEST_RUN": "another"})
    try:
        code, report = tool.end("\n")
        assert (code, f"process {process.pid} is still there: cat" in report) == (1, True)
        assert process.wait(HANG_LIMIT_S) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for started in (process, other):
            started.stdin.close()
            started.wait(HANG_LIMIT_S)


def test_a_process_that_is_ending_is_waited_for(tmp_path):
    """It ends when the command has ended, which holds the other end of its input."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert shell(f"setsid cat {fifo} & exec 9> {fifo}", patches=[PROCESSES_ONLY, ALWAYS]) == (0, "")


@pytest.fixture
def keeper(tmp_path, hello, gate):
    """Start the tool with a process left of the name of those that wait for interrupts."""
    program = tmp_path / "becalm-keeper"
    shutil.copy(shutil.which("head"), program)
    waits = "reap = unchanged.reap; unchanged.reap = lambda: (print('waiting', flush=True), reap())[1]"
    interrupts = f"traces.INTERRUPTS = {str(tmp_path / 'interrupts')!r}"

    def start(script=""):
        script = f"setsid {program} -n 1 {hello} {gate.path} >/dev/null & echo > {hello}; {script}"
        return Tool("sh", "-c", script, patches=[PROCESSES_ONLY, AT_ONCE, waits, interrupts])

    return start


LISTED = '0a {"irq":25,"device":"ttyS0","was":"1","mask":"3","why":"waiting","boot":"b"}\n'


def test_a_process_that_waits_for_interrupts_is_waited_for(keeper, gate, tmp_path):
    (tmp_path / "interrupts").write_text(LISTED)
    tool = keeper()
    assert tool.line() == "waiting"
    gate.open()
    assert tool.end() == (0, "")


def test_it_is_not_waited_for_alongside_another_process_or_when_no_interrupt_is_awaited(keeper, hello, gate, tmp_path):
    code, report = keeper().end()
    assert (code, f"becalm-keeper -n 1 {hello}" in report) == (1, True)
    (tmp_path / "interrupts").write_text(LISTED)
    # A FIFO of its own: the keeper may still read the other one, and take what tells that this program has begun.
    second = tmp_path / "second"
    os.mkfifo(second)
    code, report = keeper(f"setsid head -n 1 {second} {gate.path} & echo > {second}").end()
    assert (code, f"becalm-keeper -n 1 {hello}" in report, f"head -n 1 {second}" in report) == (1, True, True)
