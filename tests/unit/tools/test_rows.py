"""Rows of commands side by side: all are run, all that they say is said, and no failure is hidden."""

import subprocess
import sys

import run_tests
from tests.places import ROOT


def ran(*rows):
    return subprocess.run(
        [sys.executable, ROOT / "tools/rows.py", *rows], capture_output=True, text=True, timeout=60, check=False
    )


def test_all_rows_are_run_at_once_and_the_first_is_heard_first(tmp_path):
    # Each waits for what the other makes: one after the other they would wait for ever.
    one = f"sh -c 'touch {tmp_path}/one; until [ -e {tmp_path}/two ]; do sleep 0.01; done; echo first'"
    two = f"sh -c 'touch {tmp_path}/two; until [ -e {tmp_path}/one ]; do sleep 0.01; done; echo second; echo wrong >&2'"
    done = ran(one, two)
    assert done.returncode == 0
    said = [line for line in done.stdout.splitlines() if line in ("first", "second", "wrong")]
    assert said == ["first", "second", "wrong"]
    assert [line.endswith("exit codes [0] ===") for line in done.stdout.splitlines() if line.startswith("===")] == [
        True
    ] * 2


def test_no_failure_is_hidden():
    assert ran("true", "sh -c 'exit 3'", "true").returncode == 3
    assert ran("sh -c 'exit 4'", "true").returncode == 4
    assert ran("true", "sh -c 'kill -9 $$'").returncode not in (0, 2)


def test_every_test_is_in_one_row():
    rows = dict(run_tests.rows(["-x"]))
    assert len(rows) == 2
    machine, compute, guests, rest = (command for commands in rows.values() for command in commands)
    assert all("-x" in command for command in (machine, compute, guests, rest))
    assert [command[command.index("-m", 3) + 1] for command in (machine, compute, guests, rest)] == [
        "not guest", "not guest", "guest", "not guest"
    ]  # fmt: skip

    def left_out(command):
        return {word.removeprefix("--ignore=") for word in command if word.startswith("--ignore=")}

    def named(command):
        return {word for word in command if word.startswith("tests/")}

    assert left_out(machine) == set(run_tests.COMPUTE)
    assert left_out(compute) == named(rest) == set(run_tests.AFTER_GUESTS)
    assert named(compute) == {"tests/unit"}
    assert not named(machine) | named(guests)
    assert all((ROOT / folder).is_dir() for folder in (*run_tests.COMPUTE, *run_tests.AFTER_GUESTS))
    # What is not a part of the one is a part of the other.
    assert set(run_tests.COMPUTE) <= named(compute) | named(rest)
