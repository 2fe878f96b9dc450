"""Ctrl-C while becalm starts: modules that wait for it stand in the place of those that it imports."""

import os
import signal
import subprocess
import sys

import pytest
from tests.waiting import HANG_LIMIT_S

MODULE = """
import sys, time
def wait():
    print("waiting", flush=True)
    time.sleep(9000)
{waits}
"""
PLAIN = "wait()"
SWALLOWED = """
try:
    wait()
except BaseException:
    sys.exit("swallowed")
"""
DISGUISED = """
class Field:
    def __set_name__(self, owner, name):
        wait()
class Owner:
    field = Field()
"""
EXECUTED = 'exec("def made(): wait()\\nmade()")'


def interrupted(tmp_path, module, waits, *words, handler=signal.SIG_DFL):
    """Return exit code, output and errors of becalm, which gets a Ctrl-C when a module of that name, which it imports,
    has printed `waiting`."""
    (tmp_path / f"{module}.py").write_text(MODULE.format(waits=waits))
    before = signal.signal(signal.SIGINT, handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "becalm", *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            assert "waiting\n" in process.stdout
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=HANG_LIMIT_S)
        finally:
            process.kill()
    return process.returncode, output, errors


@pytest.mark.parametrize("waits", [PLAIN, SWALLOWED, DISGUISED, EXECUTED])
def test_ctrl_c_before_the_command_is_loaded_ends_it_at_once(tmp_path, waits):
    code, output, errors = interrupted(tmp_path, "click", waits, "--version")
    assert (code, output, errors.strip()) == (130, "", "becalm: Interrupted.")


@pytest.mark.parametrize("waits", [PLAIN, DISGUISED, EXECUTED])
def test_ctrl_c_while_a_verb_is_loaded_ends_in_a_sentence(tmp_path, waits):
    code, output, errors = interrupted(tmp_path, "rich", waits, "run", "--", "true")
    assert (code, output, errors.strip()) == (130, "", "becalm: Interrupted.")


def test_ctrl_c_while_python_ends_is_no_stack_trace(tmp_path):
    """The last function that Python runs waits for the signal."""
    last = "import atexit; atexit.register(wait)"
    code, _, errors = interrupted(tmp_path, "sitecustomize", last, "--version")
    assert (code, errors.strip()) == (130, "becalm: Interrupted.")


def test_a_ctrl_c_that_is_ignored_stays_so(tmp_path):
    """The signal is ignored as in the background of a script. The module goes on when its standard input ends, which is
    after the signal."""
    code, output, errors = interrupted(
        tmp_path,
        "click",
        'print("waiting", flush=True); sys.stdin.read(); sys.exit("went on")',
        "--version",
        handler=signal.SIG_IGN,
    )
    assert (code, output, errors) == (1, "", "went on\n")


def test_nothing_that_takes_time_is_imported_before_ctrl_c_is_heard():
    """Until its handler stands, a Ctrl-C is Python's: a stack trace."""
    shown = "import sys; before = set(sys.modules); import becalm.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "becalm", "becalm.__main__", "becalm._version"}
