"""Instructions counted by a program that stands in for valgrind: twice, alike in all runs, and never more slowly."""

import os
import stat

import pytest

import becalm
from becalm.results.compare import Answer, Gate

SCRIPT = """#!/bin/sh
# Counts as callgrind reports them: a line for each process.
while [ "$1" != -- ]; do shift; done; shift
"$@"; status=$?
printf '%s' "${BECALM_PADDING-}" >> "$COUNTS/padding"
echo "$$" >> "$COUNTS/runs"
base=$(cat "$COUNTS/$2")
printf '==%s== \\n==%s== Collected : %s\\n==7== Collected : 5\\n' "$$" "$$" "$base" >&2
exit "$status"
"""


@pytest.fixture(name="counts")
def _counts(tmp_path, monkeypatch):
    """A directory whose files hold the counts of programs `echo NAME`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    valgrind = programs / "valgrind"
    valgrind.write_text(SCRIPT)
    valgrind.chmod(valgrind.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COUNTS", str(tmp_path))
    (tmp_path / "old").write_text("1000")
    (tmp_path / "new").write_text("1100")
    return tmp_path


def test_counts_of_all_processes_are_added_up_and_compared(counts, store):
    verdict = becalm.compare(["echo old", "echo new"], metric="callgrind:instructions")
    (difference,) = verdict.differences
    assert (difference.answer, difference.pairs) == (Answer.HIGHER, 2)
    assert difference.estimate == pytest.approx(1105 / 1005 - 1)
    assert (difference.low, difference.high) == (difference.estimate, difference.estimate)
    assert len((counts / "runs").read_text().split()) == 4
    assert (counts / "padding").read_text() == ""
    assert verdict.summaries[0].mean_ns is None, "callgrind's time is not the program's"
    (again,) = becalm.show(verdict.study).verdict.differences
    assert again.sentence == difference.sentence
    assert again.varies == 0.0


def test_a_limit_is_decided_by_two_counts_of_each_build(counts, store):
    check = becalm.check(["echo old", "echo new"], metric="callgrind:instructions", fail_above="5%")
    assert check.gate is Gate.ABOVE
    within = becalm.check(["echo old", "echo new"], metric="callgrind:instructions", fail_above="20%")
    assert within.gate is Gate.WITHIN


def test_one_program_is_counted_twice(counts, store):
    verdict = becalm.run("echo old", metric="callgrind:instructions")
    assert verdict.sentence == "echo old: instruction count 1,005, counted twice, with the same result."
