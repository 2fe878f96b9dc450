"""`becalm simulate` as it is typed: what cannot be is refused in a sentence, and Ctrl-C shows what there is."""

import importlib
import json
import os
import pty
import sys

import pytest
from click.testing import CliRunner

from becalm.cli.main import becalm as group
from becalm.errors import BecalmError

STUCK = """
[[task]]
name = "hen"
steps = ["receive eggs", "send hens"]

[[task]]
name = "egg"
steps = ["receive hens", "send eggs"]
"""

FILES = {
    "stuck.toml": STUCK,
    "ever.toml": '[[task]]\nname = "wheel"\nsteps = ["repeat forever", "compute 1ms", "end"]\n',
    "yields.toml": '[[task]]\nname = "polite"\nsteps = ["repeat forever", "yield", "end"]\n',
    "nothing.toml": '[[task]]\nname = "idler"\nsteps = ["repeat 4000000000", "repeat 0", "end", "end"]\n',
    "heavy.toml": '[[task]]\nnice = -21\nsteps = ["compute 1ms"]\n',
    "many.toml": '[[task]]\ncount = 900000000\nsteps = ["compute 1ms"]\n',
}


def typed(words):
    """Exit code and what is said."""
    done = CliRunner().invoke(group, ["simulate", *words])
    if isinstance(done.exception, BecalmError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--", "stuck.toml"], "hen waits for a message in eggs from egg; egg waits for a message in hens from hen"),
        (["--", "ever.toml"], "never ends: wheel repeats its steps for ever. Write a number into its file"),
        (["--until", "1s", "--", "yields.toml"], "polite repeats its steps for ever, and they use no time"),
        (["--", "nothing.toml"], "idler repeats its steps for ever, and they use no time"),
        (["--", "heavy.toml"], "nice is a number from -20 to 19, not -21"),
        (["--set", "nice=20", "--", "spin", "1ms"], "nice=20"),
        (["--host", "sim:cfs?write_ns=0&read_ns=0", "--", "hackbench"], "messages would go round in no time"),
        (["--set", "sched_latency_ns=6000000", "--", "spin", "1ms"], "sim:cfs?kernel=6.1 has it"),
        (["--host", "sim:cfs", "--set", "sched_base_slice_ns=3000000", "--", "spin", "1ms"], "of Linux 6.1 has none"),
        (["--", "hackbench", "-g", "4000000000"], "4000000000 groups would need about"),
        (["--", "many.toml"], "count is a number from 1 to a million"),
        (["--trace", "no/such/trace.json", "--", "spin", "1ms"], "cannot be written to no/such/trace.json"),
    ],
)
def test_invalid_simulations_are_refused_in_a_sentence(words, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    code, message = typed(words)
    assert code == 2
    assert why in message
    assert "Traceback" not in message


def test_a_simulation_without_costs_ends(tmp_path):
    """All costs but that of reading are 0: messages take no time to write, and everything adds up."""
    free = "sim:eevdf?write_ns=0&wakeup_ns=0&switch_ns=0&migration_ns=0"
    code, message = typed(["--host", free, "--json", "--", "hackbench", "-g", "1", "-l", "5"])
    assert code == 0
    (run,) = json.loads(message)["runs"]
    assert (run["messages"], run["overhead_ns"], run["run_ns"]) == (2000, 0, 2000 * 1000)


def test_a_trace_that_would_grow_beyond_its_limit_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("becalm.verbs.simulate"), "MOST_SPANS", 100)
    path = tmp_path / "trace.json"
    done = CliRunner().invoke(group, ["simulate", "--trace", str(path), "--", "hackbench", "-g", "2", "-l", "5"])
    assert done.exit_code == 0
    trace = json.loads(path.read_text())
    left_out = trace["otherData"]["dropped"]
    assert left_out > 0
    assert len([traceEvent for traceEvent in trace["traceEvents"] if traceEvent["ph"] == "X"]) == 100
    assert f"It has the first 100 turns; {left_out:,} turns later on are left out." in done.output.replace("\n", " ")


def test_ctrl_c_in_a_long_simulation_shows_what_was_simulated():
    """Nothing here waits for a time: it would take hours, and the key is pressed when it says how far it has got."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "becalm", "simulate", "--", "hackbench", "-g9", "-l99999999"])
    shown, pressed = b"", False
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:
            # The terminal of a program that has ended (pty(7)).
            break
        if not read:
            break
        shown += read
        if not pressed and b"of the tasks have ended" in shown:
            os.write(terminal, b"\x03")
            pressed = True
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130, shown
    message = " ".join(shown.decode().split())
    assert "-l99999999 on sim:eevdf was stopped after" in message
    assert "0 of 360 tasks had ended" in message
    assert "running tasks" in message
    assert "message, sent to read" in message
