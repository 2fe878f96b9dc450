"""What tests leave on a machine is found: processes however detached, and whatever differs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import unchanged
from tests.places import ROOT

MAIN = (
    "import sys, unchanged; unchanged.GRACE_S = 0.5; unchanged.snapshot = lambda: {}; "
    "sys.exit(unchanged.main(['--', *sys.argv[1:]]))"
)


def ran(*command):
    return subprocess.run(
        [sys.executable, "-c", MAIN, *command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), "PYTEST_CURRENT_TEST": "tests/a.py::test_b (call)"},
    )


def test_what_is_as_it_was_is_no_failure_and_the_exit_code_is_the_commands():
    assert (ran("true").returncode, ran("sh", "-c", "exit 7").returncode) == (0, 7)
    assert ran("sh", "-c", "kill -9 $$").returncode == 137
    assert ran("true").stderr == ""


def test_a_process_that_detached_itself_is_named_with_its_test_and_ended():
    done = ran("sh", "-c", "setsid sh -c 'sleep 987 & sleep 1' >/dev/null 2>&1 & exit 0")
    assert done.returncode == 1
    line = next(line for line in done.stderr.splitlines() if "sleep 987" in line)
    assert line.endswith("from tests/a.py::test_b (call)")
    status = Path(f"/proc/{line.split()[1]}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()


def test_a_process_that_ends_in_time_is_none():
    assert ran("sh", "-c", "setsid sleep 0.2 & exit 0").returncode == 0


def test_differences_are_sentences_and_tasks_may_come_and_go():
    before = {
        "mount /a": "x",
        "setting /proc/sys/vm/swappiness": "60",
        "task 1 (a)": "CPUs 0-1",
        "task 2 (b)": "CPUs 0",
    }
    after = {"swap /b": "-2", "setting /proc/sys/vm/swappiness": "59", "task 1 (a)": "CPUs 0", "task 3 (c)": "CPUs 0"}
    assert list(unchanged.differences(before, after)) == [
        "mount /a: has gone",
        "setting /proc/sys/vm/swappiness: was '60', is '59'",
        "swap /b: was not there before",
        "task 1 (a): was 'CPUs 0-1', is 'CPUs 0'",
    ]
    assert list(unchanged.differences(before, before)) == []


def test_this_machine_has_something_of_each_kind():
    found = {name.split(" /")[0].split()[0] for name in unchanged.snapshot()}
    assert {"setting", "mount", "file", "interface", "task"} <= found
    settings = [name for name in unchanged.snapshot() if name.startswith("setting ")]
    assert "setting /proc/sys/kernel/randomize_va_space" in settings
    assert not [name for name in settings if "effective_affinity" in name]


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace of one's own needs root")
def test_a_mount_a_file_and_a_setting_are_seen(tmp_path):
    """In a mount namespace of its own, where /etc and the kernel's settings are this test's."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "setting").write_text("60\n")
    code = (
        "import sys, unchanged; from pathlib import Path; "
        f"unchanged.FILES = ({str(tmp_path / 'etc')!r},); unchanged.SETTINGS = ({str(tmp_path / 'setting')!r},); "
        "unchanged.tasks = lambda: []; unchanged.groups = lambda: []; unchanged.NAMES = unchanged.OURS = (); "
        "sys.exit(unchanged.main(['--', *sys.argv[1:]]))"
    )
    change = f"mount -t tmpfs none /mnt; touch {tmp_path}/etc/new; echo 59 > {tmp_path}/setting"
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", code, "sh", "-c", change],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
    )
    assert done.returncode == 1
    said = done.stderr
    assert "3 differences" in said
    assert "mount /mnt" in said
    assert f"file {tmp_path}/etc/new: was not there before" in said
    assert f"setting {tmp_path}/setting: was '60', is '59'" in said
