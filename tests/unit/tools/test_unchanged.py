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


def ran(*command, before=""):
    return subprocess.run(
        [sys.executable, "-c", before + MAIN, *command],
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


@pytest.fixture
def keeper(tmp_path):
    """Runs a shell's script beside a process called as becalm's are that wait for interrupts."""
    program = tmp_path / "becalm-keeper"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    before = f"import unchanged; unchanged.INTERRUPTS = '{tmp_path}/interrupts'; "
    return lambda seconds, script="": ran("sh", "-c", f"setsid {program} {seconds} & {script} exit 0", before=before)


def test_who_waits_for_interrupts_is_waited_for(keeper, tmp_path):
    (tmp_path / "interrupts").write_text(LISTED)
    assert keeper(1.5).returncode == 0


def test_not_where_something_else_is_there_or_nothing_is_waited_for(keeper, tmp_path):
    assert "becalm-keeper 987" in keeper(987).stderr
    (tmp_path / "interrupts").write_text(LISTED)
    assert "becalm-keeper 987" in keeper(987, "sleep 986 &").stderr


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


LISTED = """\
0a {"irq":25,"device":"ttyS0","was":"1","mask":"3","why":"waiting","boot":"b"}
0b {"irq":26,"device":"disk","was":"1","mask":"3","why":"silent","boot":"b"}
0c {"irq":27,"device":"cut
"""
MASK = "setting /proc/irq/{}/smp_affinity"


def test_a_mask_that_an_earlier_becalm_gives_back_is_none(tmp_path, monkeypatch):
    """Else a test run fails that begins before an interrupt has fired which a study moved."""
    monkeypatch.setattr(unchanged, "INTERRUPTS", str(tmp_path / "interrupts"))
    assert unchanged.returning() == {}
    (tmp_path / "interrupts").write_text(LISTED)
    before = {MASK.format(irq): "2" for irq in (25, 26)}
    assert unchanged.returning() == {MASK.format(25): "3"}
    assert list(unchanged.differences(before, before, unchanged.returning())) == []
    assert list(unchanged.differences(before, before | {MASK.format(25): "3"}, unchanged.returning())) == []
    after = {MASK.format(25): "1", MASK.format(26): "3"}
    assert list(unchanged.differences(before, after, unchanged.returning())) == [
        f"{MASK.format(25)}: was '2', is '1'",
        f"{MASK.format(26)}: was '2', is '3'",
    ]


def test_this_machine_has_something_of_each_kind():
    found = {name.split(" /")[0].split()[0] for name in unchanged.snapshot()}
    assert {"setting", "mount", "file", "interface", "task"} <= found
    settings = [name for name in unchanged.snapshot() if name.startswith("setting ")]
    assert "setting /proc/sys/kernel/randomize_va_space" in settings
    assert not [name for name in settings if "effective_affinity" in name]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A machine of a few files, and how it differs from what it was."""
    for name in ("etc", "home", "shm", "sys"):
        (tmp_path / name).mkdir()
    (tmp_path / "sys/swappiness").write_text("60")
    (tmp_path / "sys/full_scans").write_text("30")
    (tmp_path / "sys/full_scans").chmod(0o444)
    monkeypatch.setattr(unchanged, "SETTINGS", (f"{tmp_path}/sys/*",))
    monkeypatch.setattr(unchanged, "FILES", (f"{tmp_path}/etc",))
    monkeypatch.setattr(unchanged, "NAMES", (f"{tmp_path}/home",))
    monkeypatch.setattr(unchanged, "OURS", (f"{tmp_path}/shm",))
    for name in ("mounts", "groups", "tasks"):
        monkeypatch.setattr(unchanged, name, list)
    before = unchanged.snapshot()
    return tmp_path, lambda: [
        each.replace(str(tmp_path), "") for each in unchanged.differences(before, unchanged.snapshot())
    ]


LEFT = {
    "shm/becalm-spool-0123456789abcdef": "a spool",
    "shm/becalm-guest-x/console": "a guest's directory",
    "etc/grub.d/09_becalm": "a boot entry",
    "home/becalm": "what belongs into a test's own directory",
}


@pytest.mark.parametrize("left", LEFT)
def test_a_file_that_was_left_is_a_difference(places, left):
    root, differs = places
    (root / left).parent.mkdir(exist_ok=True)
    (root / left).touch()
    assert any(f"/{left}".startswith(line.split()[1].rstrip(":")) for line in differs()), LEFT[left]
    assert all(line.endswith("was not there before") for line in differs())


def test_what_others_leave_where_everybody_does_is_none(places):
    root, differs = places
    (root / "shm/PostgreSQL.1").touch()
    (root / "shm/becalm-fuzz-1").touch()
    assert differs() == []


def test_a_setting_is_one_and_a_counter_that_nobody_can_write_is_none(places):
    root, differs = places
    (root / "sys/full_scans").unlink()
    (root / "sys/full_scans").write_text("31")
    (root / "sys/full_scans").chmod(0o444)
    assert differs() == []
    (root / "sys/swappiness").write_text("59")
    assert differs() == ["setting /sys/swappiness: was '60', is '59'"]


def test_what_becalm_leaves_by_design_is_none(places, monkeypatch):
    root, differs = places
    monkeypatch.setattr(unchanged, "OWN", (f"{root}/etc/becalm", f"{root}/etc/becalm/last-restore"))
    (root / "etc/becalm").mkdir()
    (root / "etc/becalm/last-restore").write_text("Put back.")
    assert differs() == []
    (root / "etc/becalm/journal").touch()
    assert differs() == ["file /etc/becalm/journal: was not there before"]


@pytest.mark.parametrize(("words", "code"), [(("--tell",), 0), ((), 1)])
def test_a_difference_is_a_failure_unless_it_is_only_to_be_told(words, code, monkeypatch, capsys):
    snapshots = iter([{}, {"control group /sys/fs/cgroup/becalm-1": ""}])
    monkeypatch.setattr(unchanged, "snapshot", lambda: next(snapshots))
    monkeypatch.setattr(unchanged, "run", lambda command: 0)
    monkeypatch.setattr(unchanged, "survivors", list)
    assert unchanged.main([*words, "--", "true"]) == code
    assert "control group /sys/fs/cgroup/becalm-1: was not there before" in capsys.readouterr().err


def test_a_mask_that_comes_back_during_a_test_run_fails_it_not(tmp_path, monkeypatch):
    (tmp_path / "interrupts").write_text(LISTED)
    monkeypatch.setattr(unchanged, "INTERRUPTS", str(tmp_path / "interrupts"))
    snapshots = iter([{MASK.format(25): "2"}, {MASK.format(25): "3"}])
    monkeypatch.setattr(unchanged, "snapshot", lambda: next(snapshots))
    # What the list says afterwards is no matter.
    monkeypatch.setattr(unchanged, "run", lambda command: (tmp_path / "interrupts").unlink() or 0)
    monkeypatch.setattr(unchanged, "survivors", list)
    assert unchanged.main(["--", "true"]) == 0


def test_make_test_fails_on_a_difference():
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "UNCHANGED"))}
    done = subprocess.run(["make", "-n", "test"], cwd=ROOT, env=own, capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if "tools/unchanged.py" in line]
    assert "--tell" not in line


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
