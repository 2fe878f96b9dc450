"""Numbers and repeated settings on the command line: read in one way, or refused."""

import pytest

import becalm as api
from becalm.errors import UsageError

SIM = ("run", "--host", "sim:laptop-a", "--no-store", "spin 10ms", "--runs")


@pytest.mark.parametrize("number", ["1_000", "1,000", "1'000", "1.000.000", "1 000"])
def test_numbers_with_separators_are_refused(home, becalm, number):
    ended = becalm(*SIM, number)
    assert ended.returncode == 2
    assert "can be read in two ways" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("number", ["0", "1_0", "x", "1.5"])
def test_numbers_out_of_range_are_refused(home, becalm, number):
    assert becalm("list", "--limit", number).returncode == 2


def test_a_count_has_a_bound(home, becalm):
    ended = becalm(*SIM, "3", "--warmup", "99999999999999999999")
    assert ended.returncode == 2
    assert "must be at most 9223372036854775807" in " ".join(ended.stderr.split())
    with pytest.raises(UsageError, match=r"--warmup must be at most 9223372036854775807, not 1\.000e\+30"):
        api.run("spin 10ms", host="sim:laptop-a", store=False, warmup=10**30)


def test_a_setting_with_two_values_is_refused(home, becalm):
    ended = becalm(*SIM, "3", "--set", "aslr=on", "--set", "aslr=off")
    assert ended.returncode == 2
    assert "aslr=on and --set aslr=off contradict each other" in " ".join(ended.stderr.split())
    assert becalm(*SIM, "3", "--set", "aslr=off", "--set", "aslr=off").returncode == 0


def test_an_option_with_two_values_is_refused(home, becalm):
    ended = becalm(*SIM, "3", "--runs", "5")
    assert ended.returncode == 2
    assert "--runs 3 and --runs 5 contradict each other. Leave one out." in " ".join(ended.stderr.split())
    assert becalm(*SIM, "3", "--runs", "3").returncode == 0
    assert becalm("list", "--limit", "1", "--limit", "2").returncode == 2
    ended = becalm(*SIM, "3", "--metric", "a: (.)", "--metric", "b: (.)", "--help")
    assert ended.returncode == 0, "metrics are several"
