"""Run all tests of Python, those of virtual machines beside the others: their guests mostly wait for their own clocks.

What the tests in the background say comes at the end. Which took longest is said, too. Arguments go to pytest.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile


def main(arguments: list[str]) -> int:
    """Returns 0 when all tests have passed, else the first exit code that is not 0."""
    pytest = [sys.executable, "-m", "pytest", "--durations=20", "--durations-min=5", *arguments]
    print("The tests of virtual machines run meanwhile; what they say comes at the end.", flush=True)
    with tempfile.TemporaryFile() as said:
        guests = subprocess.Popen([*pytest, "-m", "guest"], stdout=said, stderr=said)
        others = subprocess.Popen([*pytest, "-m", "not guest"])
        # Ctrl-C reaches all of them; each says what it did until then.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        codes = [others.wait(), guests.wait()]
        said.seek(0)
        sys.stdout.buffer.write(said.read())
    return next(filter(None, codes), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
