"""Command lines and files as what the simulator runs."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.programs import work_of


def test_hackbench_by_its_own_options():
    assert work_of(["hackbench"]) == {"hackbench": {}}
    words = ["/usr/bin/hackbench", "-g20", "--loops=1000", "-f", "10", "-T", "-p"]
    assert work_of(words) == {"hackbench": {"groups": 20, "loops": 1000, "fan": 10}}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "no program"),
        (["hackbench", "-x"], "no option '-x'"),
        (["hackbench", "-g", "many"], "above 0 and below 4294967296, not 'many'"),
        (["hackbench", "-g", "4294967296"], "not '4294967296'"),
        (["hackbench", "-l"], "above 0 and below 4294967296, not ''"),
        (["spin", "1e30s"], "longer than the 146 years"),
        (["gzip", "-9"], "runs no program 'gzip'"),
        (["none.toml"], "No such file"),
    ],
)
def test_what_is_not_known_is_refused(words, why):
    with pytest.raises(UsageError, match=why):
        work_of(words)
