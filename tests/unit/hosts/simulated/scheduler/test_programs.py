"""Command lines and files as what the simulator runs."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.programs import unmodelled, work_of


def test_hackbench_by_its_own_options():
    assert work_of(["hackbench"]) == {"hackbench": {}}
    words = ["/usr/bin/hackbench", "-g20", "--loops=1000", "-f", "10", "-T", "-p"]
    assert work_of(words) == {"hackbench": {"groups": 20, "loops": 1000, "fan": 10}}


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("20", {"groups": 20}),
        ("20 process 100", {"groups": 20, "loops": 100}),
        ("-pipe 20 thread 100", {"groups": 20, "loops": 100}),
        ("-g 5 --room 1", {"groups": 5, "room": 1}),
        ("-s512 --pipe -g 5 -l50", {"groups": 5, "loops": 50}),
    ],
)
def test_other_ways_to_call_hackbench(words, numbers):
    assert work_of(["hackbench", *words.split()]) == {"hackbench": numbers}


def test_options_that_change_nothing_are_listed():
    assert unmodelled(["hackbench", "-T", "-g", "5", "--datasize=512"]) == (
        "hackbench -T (threads instead of processes)",
        "hackbench --datasize (the size of a message)",
    )
    assert unmodelled(["hackbench", "20", "process", "100"]) == ()
    assert unmodelled(["hackbench", "-pipe", "20", "thread"]) == (
        "hackbench -pipe (pipes instead of sockets)",
        "hackbench thread (threads)",
    )
    assert unmodelled(["spin", "1s"]) == ()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "no program"),
        (["hackbench", "-x"], "no option '-x'"),
        (["hackbench", "-g", "many"], "above 0 and below 4294967296, not 'many'"),
        (["hackbench", "-g", "4294967296"], "not '4294967296'"),
        (["hackbench", "0"], "hackbench groups takes a number above 0"),
        (["hackbench", "5", "process", "10", "3"], "no option '3'"),
        (["hackbench", "--room", "0"], "--room takes a number above 0"),
        (["hackbench", "-s", "big"], "-s takes a number above 0"),
        (["hackbench", "-l"], "above 0 and below 4294967296, not ''"),
        (["spin", "1e30s"], "at most 100 years"),
        (["gzip", "-9"], "runs no program 'gzip'"),
        (["none.toml"], "No such file"),
    ],
)
def test_unknown_programs_are_refused(words, why):
    with pytest.raises(UsageError, match=why):
        work_of(words)
