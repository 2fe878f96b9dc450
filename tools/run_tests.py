"""Run all tests of Python in two rows side by side: those of the machine itself, then most that compute, which need no
machine at all; and those of virtual machines, then the rest that computes, so that both end at about the same time.

Three rows were tried on two processors: they took as long, and what is measured on the machine was disturbed more.
What the row in the background says comes at the end. Which took longest is said, too. Arguments go to pytest.
"""

from __future__ import annotations

import sys

from rows import Command, side_by_side

COMPUTE = ("tests/unit", "tests/property", "tests/property/fuzz", "tests/unit/bench")
"""All folders whose tests need no machine."""

AFTER_GUESTS = (*(f"tests/unit/{name}" for name in ("analysis", "stats", "methods", "tools")), *COMPUTE[1:])
"""Those of them which come after the tests of virtual machines."""

NOTHING_COLLECTED = 5
"""pytest's exit code where no test was chosen: of one row that is nothing wrong."""


def rows(arguments: list[str]) -> list[tuple[str, list[Command]]]:
    """The rows of every test, each test in one of them."""
    pytest = [sys.executable, "-m", "pytest", "--durations=20", "--durations-min=5", *arguments]
    without = [f"--ignore={folder}" for folder in COMPUTE]
    later = [f"--ignore={folder}" for folder in AFTER_GUESTS]
    return [
        (
            "tests of this machine, and most that compute",
            [[*pytest, "-m", "not guest", *without], [*pytest, "-m", "not guest", *later, "tests/unit"]],
        ),
        (
            "tests of virtual machines, and the rest that computes",
            [[*pytest, "-m", "guest"], [*pytest, "-m", "not guest", *AFTER_GUESTS]],
        ),
    ]


def main(arguments: list[str]) -> int:
    """Returns 0 when all tests have passed, else the first exit code that is not 0."""
    print("Those of virtual machines run meanwhile; what they say comes at the end.", flush=True)
    codes = side_by_side(rows(arguments))
    failed = [code for code in codes if code not in (0, NOTHING_COLLECTED)]
    return failed[0] if failed else min(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
