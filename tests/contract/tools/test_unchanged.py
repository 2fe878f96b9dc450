"""Traces that a command leaves on this machine are a failure that names them; changes by others are none."""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import snapshot
from tests.contract.tools.unchanged_tool import (
    ALWAYS,
    AT_ONCE,
    PROCESSES_ONLY,
    Tool,
    left,
    places_of_groups,
    run,
    shell,
)
from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S, wait_for

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
settings = pytest.mark.xdist_group("settings")


def test_a_snapshot_of_this_machine_has_something_of_each_kind():
    state = snapshot.snapshot()
    assert {kind for kind, _ in state} >= {"setting", "mount", "file", "interface", "task"}
    paths = {name for kind, name in state if kind == "setting"}
    assert "/proc/sys/kernel/randomize_va_space" in paths
    assert not [path for path in paths if "effective_affinity" in path]


@needs_root
@settings
@pytest.mark.skipif(not os.access("/proc/sys/vm/stat_interval", os.W_OK), reason="settings are read-only here")
def test_a_setting_that_was_not_restored_is_named():
    place = Path("/proc/sys/vm/stat_interval")
    before = place.read_text().strip()
    value = "7" if before != "7" else "8"
    try:
        code, report = shell(f"echo {value} > {place}", patches=[AT_ONCE])
    finally:
        place.write_text(before)
    assert code == 1
    assert f"  setting {place}: was '{before}', is '{value}'" in left(report)


@settings
def test_a_process_whose_cpus_were_not_restored_is_named():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("there is one CPU only")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        bind = f"import os; os.sched_setaffinity({process.pid}, [{cpus[0]}])"
        code, report = run(sys.executable, "-c", bind, patches=[AT_ONCE])
    assert code == 1
    (line,) = (line for line in left(report) if f"task {process.pid} (cat)" in line)
    assert line.endswith(f", is 'CPUs {cpus[0]}'")


@needs_root
def test_a_control_group_that_is_left_is_named():
    # Agents remove groups of processes that have ended; this is no number of a process (32 bits).
    name = f"becalm-load-{2**32 + secrets.randbelow(2**20)}"
    places = places_of_groups(name)
    if not places:
        pytest.skip("no control group can be made here")
    group = places[0] / name
    try:
        code, report = shell(f"mkdir {group}", patches=[AT_ONCE])
    finally:
        group.rmdir()
    assert code == 1
    assert f"  control group {group}: was not there before" in left(report)


@needs_root
def test_a_mount_that_is_left_is_named_and_nothing_in_it_is_removed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    script = "echo $TMPDIR; mkdir $TMPDIR/'a b'; mount --bind $0/precious $TMPDIR/'a b'; mount -t tmpfs x $TMPDIR/'a b'"
    tool = Tool("sh", "-e", "-c", script, str(tmp_path), patches=[AT_ONCE])
    private = tool.line()
    code, report = tool.end()
    assert code == 1
    assert {f"  mount {private}/a b{top}: was not there before" for top in ("", " #2")} <= set(left(report))
    assert private not in Path("/proc/self/mountinfo").read_text()
    assert not Path(private).exists()
    assert (tmp_path / "precious/file").exists()


@needs_root
@settings
def test_a_swap_area_that_is_left_is_named_and_switched_off():
    script = (
        "echo $TMPDIR; cd $TMPDIR; dd if=/dev/zero of=area bs=65536 count=16 2>/dev/null; chmod 600 area;"
        "mkswap area >/dev/null; swapon area"
    )
    tool = Tool("sh", "-c", script, patches=[AT_ONCE])
    private = tool.line()
    code, report = tool.end()
    if "swapon failed" in report:
        pytest.skip("no swap area can be switched on here")
    assert code == 1
    assert f"  swap {private}/area: was not there before" in left(report)
    assert private not in Path("/proc/swaps").read_text()


def test_a_file_under_a_name_of_ours_is_named():
    path = Path(f"/dev/shm/becalm-unchanged-{secrets.token_hex(8)}")
    try:
        code, report = shell(f"echo > {path}", patches=[AT_ONCE])
    finally:
        path.unlink()
    assert code == 1
    assert f"  file {path}: was not there before" in left(report)


def test_the_private_directory_is_the_commands_and_goes_with_all_that_is_in_it():
    script = "echo $TMPDIR; mkdir -p $TMPDIR/a/b $XDG_STATE_HOME; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a; read line"
    tool = Tool("sh", "-c", script, patches=[PROCESSES_ONLY])
    private = Path(tool.line())
    wait_for((private / "a").exists)
    assert tool.end("\n") == (0, "")
    assert not private.exists()


NOISE = """
trap 'exit 0' TERM
n=0
while read more; do
  n=$((n + 1))
  touch /tmp/$0-$n
  rm /tmp/$0-$((n - 5)) 2>/dev/null
  for place; do
    mkdir $place/$0-$n
    rmdir $place/$0-$((n - 5)) 2>/dev/null
  done
  cat /dev/null &
  wait
  echo $n
done
"""


@pytest.fixture
def noise():
    """A loop that makes and removes control groups, files in /tmp and processes, a round for each line that it gets;
    returns it and its names."""
    name = f"noise-{secrets.token_hex(4)}"
    places = places_of_groups(name)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    loop = subprocess.Popen(["sh", "-c", NOISE, name, *map(str, places)], **pipes)
    yield loop, name
    # It ends between two commands.
    loop.terminate()
    loop.communicate(timeout=HANG_LIMIT_S)
    for path in Path("/tmp").glob(f"{name}-*"):
        path.unlink()
    for path in (path for place in places for path in place.glob(f"{name}-*")):
        path.rmdir()


def rounds(loop, count):
    """Have the loop make so many rounds, one after the other."""
    for _ in range(count):
        loop.stdin.write("\n")
        assert loop.stdout.readline()


@settings
def test_next_to_others_that_change_the_machine_it_passes(noise):
    loop, name = noise
    rounds(loop, 1)
    tool = Tool("sh", "-c", "echo begun; read line", patches=[ALWAYS, "unchanged.MOST_LINES = 10**6"])
    assert tool.line() == "begun"
    rounds(loop, 20)
    code, report = tool.end("\n")
    assert (code, left(report)) == (0, [""]), report
    assert f"  file /tmp/{name}-" in report


@pytest.fixture
def ordinary():
    """Options with which the tool runs as an ordinary user; root runs it as nobody, with a Python for everybody."""
    if os.geteuid() != 0:
        yield {}
        return
    user = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        for name in ("unchanged.py", "snapshot.py", "traces.py"):
            shutil.copy(ROOT / "tools" / name, directory)
        for python in (sys.executable, "/usr/bin/python3"):
            probe = f"import sys; sys.path.insert(0, {directory!r}); import unchanged"
            with contextlib.suppress(OSError):
                if subprocess.run([python, "-c", probe], user=user, group=user, extra_groups=[]).returncode == 0:
                    yield {"python": python, "user": user, "PYTHONPATH": directory}
                    return
    pytest.skip("nobody may run no Python here")


def test_an_ordinary_user_gets_the_same_report(ordinary):
    assert run("true", patches=[PROCESSES_ONLY], **ordinary) == (0, "")
    path = Path(f"/dev/shm/becalm-unchanged-{secrets.token_hex(8)}")
    try:
        code, report = shell(f"echo > {path}", patches=[AT_ONCE], **ordinary)
    finally:
        path.unlink()
    assert code == 1
    assert f"  file {path}: was not there before" in left(report)
