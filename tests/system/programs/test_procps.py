"""The agent's counters next to those of procps."""

import subprocess

import pytest
from tests.contract.load.test_load import reading


@pytest.mark.needs("vmstat")
def test_vmstat_counts_the_same(agent):
    """`vmstat -s` of procps reads the same counters: its reading lies between two of the agent's."""
    before = reading(agent, ["stat", "vmstat"])
    output = subprocess.run(["vmstat", "-s"], capture_output=True, text=True, check=True).stdout
    after = reading(agent, ["stat", "vmstat"])
    theirs = {words: int(number) for number, words in (line.split(None, 1) for line in output.splitlines())}
    for source, name, words in (
        ("stat", "ctxt", "CPU context switches"),
        ("stat", "processes", "forks"),
        ("vmstat", "pgpgout", "K paged out"),
        ("vmstat", "pswpout", "pages swapped out"),
    ):
        known = [key for key in theirs if key.endswith(words)]
        assert known, words
        low, high = (reading[source]["counters"][name] for reading in (before, after))
        assert low <= theirs[known[0]] <= high, name
