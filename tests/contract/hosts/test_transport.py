"""A child's streams are closed: it has ended then, whatever it does."""

import os
import subprocess
import sys

import pytest

from becalm.hosts.transport import ProcessLink

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
