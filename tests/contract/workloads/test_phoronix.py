"""Tests of the Phoronix Test Suite: preparation, program and cleaning up are run, and a shell splits arguments."""

import os
import subprocess

import pytest
from tests.support.phoronix_suite import OPENSSL

from becalm import workloads
from becalm.workloads.phoronix_profile import words


def run(workload):
    """Run a workload as the agent would: preparation, program, cleaning up; returns the status of each."""
    options = {"env": {**os.environ, **dict(workload.environment)}, "cwd": workload.directory, "check": False}
    parts = (workload.prepare, workload.argv, workload.cleanup)
    return [subprocess.run(part, capture_output=True, **options) for part in parts if part]


def test_a_run_leaves_what_the_suite_would_see(suite):
    place = suite("pts/tiny-1.0.0")
    (workload,) = workloads.open(["phoronix:tiny"])
    assert [done.returncode for done in run(workload)] == [0, 0]
    assert (place / "ran-in").read_text().strip() == str(place)
    assert (place / "becalm.log").exists()


def test_a_failed_run_refuses_the_next_and_is_forgotten_then(suite):
    suite("pts/tiny-1.0.0", script="#!/bin/sh\necho 7 > ~/test-exit-status\n")
    (workload,) = workloads.open(["phoronix:tiny"])
    assert run(workload)[0].returncode == 0
    refused = run(workload)[0]
    assert refused.returncode == 1
    assert b"The run before this one failed" in refused.stderr
    assert b"was 7" in refused.stderr
    # A new study starts afresh, whatever a former one left.
    (workload,) = workloads.open(["phoronix:tiny"])
    assert run(workload)[0].returncode == 0


def test_the_log_of_the_last_run_is_gone_before_the_next(suite):
    place = suite("pts/tiny-1.0.0", script="#!/bin/sh\necho x >> $LOG_FILE\n")
    (workload,) = workloads.open(["phoronix:tiny"])
    for _ in range(2):
        run(workload)
    assert (place / "becalm.log").read_text() == "x\n"


def test_the_tests_own_scripts_run_before_and_after(suite):
    place = suite(
        "pts/openssl-3.1.0", OPENSSL, pre='echo "$1" > before', post='mv before "after-$3"', interim="touch never"
    )
    (workload,) = workloads.open(["phoronix:openssl"])
    assert [done.returncode for done in run(workload)] == [0, 0, 0]
    assert (place / "after-rsa4096").read_text() == "speed\n"
    assert not (place / "never").exists()


def test_a_preparation_that_fails_says_so_in_its_file_not_by_its_exit_code(suite):
    suite("pts/tiny-1.0.0", pre="echo 5 > ~/pre-test-exit-status")
    (workload,) = workloads.open(["phoronix:tiny"])
    prepared = run(workload)[0]
    assert prepared.returncode == 1
    assert b"pre-test-exit-status was 5" in prepared.stderr
    suite("pts/other-1.0.0", pre="exit 5")
    (workload,) = workloads.open(["phoronix:other"])
    assert run(workload)[0].returncode == 0


def test_scripts_of_what_a_test_extends_run_after_its_own(suite):
    suite("pts/base-1.0.0", pre="echo base >> order")
    extends = "<PhoronixTestSuite><TestProfile><Extends>pts/base-1.0.0</Extends></TestProfile></PhoronixTestSuite>"
    place = suite("pts/child-1.0.0", extends, pre="echo own >> order", pre_linux="echo linux >> order")
    (workload,) = workloads.open(["phoronix:child"])
    run(workload)
    assert (place / "order").read_text() == "linux\nbase\n"


def test_with_a_shell_the_line_is_the_suites_own(suite):
    place = suite("pts/openssl-3.1.0", OPENSSL, post='echo "$@" > posted')
    (workload,) = workloads.open(["phoronix:openssl"], shell=True)
    line = f"exec {place}/openssl speed -a rsa4096 'l l' -multi $NUM_CPU_CORES"
    assert workload.argv == ("/bin/sh", "-c", line)
    assert [done.returncode for done in run(workload)] == [0, 0, 0]
    message = f"speed -a rsa4096 l l -multi {os.cpu_count()}\n"
    assert (place / "becalm.log").read_text() == (place / "posted").read_text() == message


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("-t $N --x=${N}k", ["-t", "4", "--x=4k"]),
        ("'$N' \"$N $P\"", ["$N", '4 a b"c']),
        ("-p $P", ["-p", 'a b"c']),
        (r"a\ b \$N", ["a b", "$N"]),
        ("'a;b' \"c|d *\"", ["a;b", "c|d *"]),
        (r'"a\$N $N\"\\"', ['a$N 4"\\']),
        ("a~ --x=~", ["a~", "--x=~"]),
        ("", []),
    ],
)
def test_arguments_are_split_as_the_shell_would(text, split):
    known = {"N": "4", "P": 'a b"c'}
    assert words(text, known) == split
    shell = subprocess.run(
        ["/bin/sh", "-c", f'for each in {text}; do printf "%s\\n" "$each"; done'],
        env={**os.environ, **known}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    # The one difference: a value with a blank stays one word, as what is set here is one path or one number.
    if "-p $P" not in text:
        assert shell.stdout.splitlines() == split
