"""A child's streams are closed: it has ended then, whatever it does."""

import os
import subprocess
import sys

import pytest

from becalm.hosts.limited_output import MOST_ERRORS, limited_output
from becalm.hosts.transport import ProcessLink, TooMuchError

FOREVER = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"


def link(*command, patience_s=60.0):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return ProcessLink(process, patience_s)


@pytest.fixture(params=[True, False], ids=["told by the kernel", "looked for"])
def kernel_tells(request, monkeypatch):
    if not request.param:

        def absent(pid):
            raise OSError(38, "Function not implemented")

        monkeypatch.setattr(os, "pidfd_open", absent)


@pytest.mark.usefixtures("kernel_tells")
def test_a_child_that_ends_with_its_input_is_waited_for():
    child = link("cat")
    child.send(b"one\n")
    assert child.read() == b"one\n"
    child.close()
    assert child.process.returncode == 0
    child.close()
    assert child.died() == "ended with exit code 0"


@pytest.mark.usefixtures("kernel_tells")
def test_one_that_does_not_end_is_killed():
    child = link(sys.executable, "-c", FOREVER, patience_s=0.05)
    assert child.read() == b"\n"
    child.close()
    assert child.process.returncode == -9
    assert "was killed by signal 9" in str(child.lost("local"))


@pytest.mark.usefixtures("kernel_tells")
def test_one_that_has_ended_before_is_no_error():
    child = link("true")
    child.process.wait()
    child.close()
    assert child.process.returncode == 0


def test_a_line_without_end_is_read_up_to_the_limit():
    child = link("cat", "/dev/zero", patience_s=0.05)
    with pytest.raises(TooMuchError):
        child.read(1 << 20)
    child.close()
    assert child.process.returncode in (-9, -13, 1)


def test_lines_are_read_whole_whatever_they_arrive_with():
    lines = [b"x" * 70_000 + b"\n", b"\n", b"y\n"]
    child = link("cat")
    child.send(b"".join(lines))
    assert [child.read(limit_s=60) for _ in lines] == lines
    with pytest.raises(TimeoutError):
        child.read(limit_s=0)
    child.close()


def test_a_command_is_captured_with_its_input():
    done = limited_output(["sh", "-c", "cat; echo said >&2; exit 3"], b"x" * 300_000, 1 << 20, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"x" * 300_000, b"said\n")
    done = limited_output(["sh", "-c", "exec <&-; echo read nothing"], b"x" * 300_000, 1 << 20, env=os.environ)
    assert done.stdout == b"read nothing\n"


def test_a_command_that_writes_without_end_is_ended_and_its_errors_are_cut():
    with pytest.raises(TooMuchError):
        limited_output(["cat", "/dev/zero"], b"", 1 << 20, env=os.environ)
    done = limited_output(["sh", "-c", "head -c 3000000 /dev/zero >&2"], b"", 10, env=os.environ)
    assert len(done.stderr) == MOST_ERRORS


def test_a_command_that_does_not_end_is_ended_after_the_limit():
    with pytest.raises(subprocess.TimeoutExpired):
        limited_output(["sleep", "9000"], b"", 10, env=os.environ, limit_s=0)
