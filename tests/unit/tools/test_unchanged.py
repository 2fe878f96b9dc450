"""The tool that fails when tests leave a trace: its private directory, its report and its exit code."""

import os
import signal
import tempfile
from types import SimpleNamespace

import pytest
import traces
import unchanged
from tests.directories import VARIABLES

GROUP = ("control group", "/sys/fs/cgroup/becalm-isolated")
HOST = ("setting", "/proc/sys/kernel/hostname")


@pytest.fixture
def main(tmp_path, monkeypatch):
    """Run the tool between two snapshots, with a command that does nothing; no process is started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(unchanged, "GRACE_S", 0.0)
    monkeypatch.setattr(traces, "in_use", lambda path: False)
    for name in ("JOURNAL", "NOTE", "INTERRUPTS"):
        monkeypatch.setattr(traces, name, str(tmp_path / name))

    def run(before, after, code=0, left=()):
        snapshots = iter([before, after])
        monkeypatch.setattr(unchanged.snapshot, "snapshot", lambda: next(snapshots))
        monkeypatch.setattr(unchanged, "run", lambda command, variables: code)
        monkeypatch.setattr(unchanged, "survivors", lambda identity: [*left])
        return unchanged.main(["--", "true"])

    return run


def test_the_exit_code_is_the_commands_when_nothing_is_left(main, capsys):
    assert main({}, {}) == 0
    assert main({}, {}, code=7) == 7
    assert capsys.readouterr().err == ""


def test_a_trace_is_a_failure(main, capsys):
    assert main({}, {GROUP: ""}) == 1
    assert capsys.readouterr().err == (
        "\nThe machine is not as it was before. 1 difference:\n"
        "  control group /sys/fs/cgroup/becalm-isolated: was not there before\n"
    )


def test_a_process_that_is_left_is_a_failure(main, capsys):
    assert main({}, {}, left=["process 7 is still there: sleep 9"]) == 1
    assert "process 7 is still there: sleep 9" in capsys.readouterr().err


def test_the_code_of_a_command_that_failed_is_kept_alongside_a_trace(main):
    assert main({}, {GROUP: ""}, code=7) == 7


def test_changes_by_others_are_listed_and_not_a_failure(main, capsys):
    assert main({HOST: "a"}, {HOST: "b"}) == 0
    assert capsys.readouterr().err == (
        "\nChanged meanwhile, not by these tests:\n  setting /proc/sys/kernel/hostname: was 'a', is 'b'\n"
    )


def test_a_trace_comes_before_what_others_changed(main, capsys):
    assert main({HOST: "a"}, {HOST: "b", GROUP: ""}) == 1
    text = capsys.readouterr().err
    assert text.index("1 difference:") < text.index("becalm-isolated") < text.index("Changed meanwhile")


def test_the_list_of_others_changes_has_an_end():
    lines = [str(number) for number in range(unchanged.MOST_LINES + 3)]
    listed = unchanged.report([], lines).splitlines()
    assert listed[-2:] == [f"  {unchanged.MOST_LINES - 1}", "  and 3 more"]
    assert unchanged.report([], lines[: unchanged.MOST_LINES]).splitlines()[-1] == f"  {unchanged.MOST_LINES - 1}"
    assert "2 differences:" in unchanged.report(["a", "b"], [])


@pytest.fixture
def left_until(monkeypatch):
    """Run `survivors` on a scripted clock: a process ends at one second, and waits for interrupts until another.

    Returns the seconds that passed, and whether the process had to be killed.
    """

    def run(end, waits_until=0.0):
        clock, killed = SimpleNamespace(now=0.0), []
        sleep = lambda pause: setattr(clock, "now", clock.now + 1.0)  # noqa: E731
        monkeypatch.setattr(unchanged, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
        monkeypatch.setattr(unchanged, "processes", lambda identity: [2**22 + 1] if clock.now < end else [])
        monkeypatch.setattr(unchanged, "waiting_for_interrupts", lambda left: clock.now < waits_until)
        monkeypatch.setattr(unchanged, "reap", lambda: None)
        monkeypatch.setattr(unchanged, "end", killed.append)
        unchanged.survivors("x")
        return clock.now, bool(killed)

    return run


def test_a_process_has_its_time_to_end(left_until):
    assert left_until(0) == (0, False)
    assert left_until(unchanged.GRACE_S) == (unchanged.GRACE_S, False)
    assert left_until(unchanged.GRACE_S + 1) == (unchanged.GRACE_S, True)


def test_a_process_that_has_waited_for_interrupts_has_the_same_time_afterwards(left_until):
    assert left_until(60, waits_until=60) == (60, False)
    assert left_until(64, waits_until=60) == (64, False)
    assert left_until(1e9, waits_until=60) == (59 + unchanged.GRACE_S, True)
    assert left_until(1e9, waits_until=1e9) == (unchanged.PATIENCE_S - 1 + unchanged.GRACE_S, True)


@pytest.mark.parametrize("arguments", [[], ["true"], ["--"], ["--tell", "--", "true"]])
def test_a_wrong_command_line_is_a_usage_error(arguments, capsys):
    assert unchanged.main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_the_private_directory_is_short_open_to_all_users_and_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with unchanged.private_directory() as private:
        assert private.stat().st_mode & 0o7777 == 0o1777
        assert len(private.name) <= 12, "paths of sockets are limited"
        (private / "closed").mkdir()
        (private / "closed/file").touch()
        (private / "closed").chmod(0)
        (private / "link").symlink_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_everything_that_a_command_writes_by_itself_goes_into_the_private_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    variables = unchanged.environment(tmp_path)
    assert variables["TMPDIR"] == str(tmp_path)
    for name in VARIABLES:
        assert os.path.dirname(variables[name]) == str(tmp_path)
    assert variables["XDG_CACHE_HOME"] == "/cache", "kernels of guests are kept"
    assert variables["BECALM_TEST_RUN"] == tmp_path.name
    assert variables["PATH"] == os.environ["PATH"]


def test_a_file_that_cannot_be_removed_is_reported_with_its_owner(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(unchanged.shutil, "rmtree", lambda path, ignore_errors: None)
    assert unchanged.remove(tmp_path) == [f"file {tmp_path}/file of user {os.geteuid()} cannot be removed"]


def test_a_command_that_has_ended_is_sent_nothing(monkeypatch):
    sent = []
    monkeypatch.setattr(unchanged.os, "kill", lambda *words: sent.append(words))
    unchanged.terminate(SimpleNamespace(pid=7, returncode=None))
    unchanged.terminate(SimpleNamespace(pid=7, returncode=0))
    assert sent == [(7, signal.SIGTERM)]
