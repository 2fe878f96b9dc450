"""The guard of the memory-only tiers: no test of theirs uses a process, a socket, a clock or a limit unnoticed."""

import pytest
from tests.memory_only import UsesMachine


def run(code):
    """Run code as a test's. In strings, since `make lint` rejects it in a test."""
    exec(code, {"__name__": __name__})


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import os; os.system('true')",
        "import os; os.fork()",
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import time; time.time()",
        "import time; time.monotonic_ns()",
        "import time; time.clock_gettime(time.CLOCK_REALTIME)",
        "import time; time.localtime()",
        "import time; time.ctime(None)",
        "import time; time.strftime('%Y')",
        "import time; time.sleep(0)",
        "import threading; threading.Event().wait(0.001)",
        "import threading; condition = threading.Condition(); condition.acquire(); condition.wait(timeout=0.001)",
        "import time\ntry: time.time()\nexcept Exception: pass",
    ],
)
def test_code_that_uses_the_machine_raises(code):
    with pytest.raises(UsesMachine, match="memory-only test"):
        run(code)


@pytest.mark.parametrize(
    "code",
    [
        "import time; assert time.strftime('%Y', time.gmtime(0)) == '1970'",
        "import threading; event = threading.Event(); event.set(); assert event.wait()",
    ],
)
def test_code_that_reads_no_clock_is_free(code):
    run(code)


def test_a_program_that_a_library_can_do_without_is_not_there():
    with pytest.raises(FileNotFoundError):
        run("import subprocess; subprocess.check_output(['fc-list', '--help'])")
