"""Exact counts of instructions, by running a program under valgrind's callgrind.

Callgrind executes the program on a simulated processor and counts each instruction (its event Ir), so that two runs of
the same work give the same count on any machine, without hardware counters. Source: N. Nethercote, J. Seward: Valgrind.
PLDI 2007; J. Weidendorfer: Sequential performance analysis with callgrind and KCachegrind. 2008.
"""

from __future__ import annotations

from collections.abc import Sequence

COUNTED = r"(?m)^==\d+== Collected : (\d+)"
"""Callgrind's line on standard error with the count of one process, written when the process ends."""

ENVIRONMENT = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}
"""Variables without which interpreters order their tables differently in each run."""

VALGRIND = "valgrind"


def counting(argv: Sequence[str], profile: str = "/dev/null") -> tuple[str, ...]:
    """Return the command line that counts a program and its children, and writes callgrind's profile to a file."""
    return (VALGRIND, "--tool=callgrind", f"--callgrind-out-file={profile}", "--trace-children=yes", "--", *argv)


def counting_environment(environment: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return a program's environment with ENVIRONMENT, of which the program's own values take precedence."""
    return tuple({**ENVIRONMENT, **dict(environment)}.items())
