"""Errors and retransmissions are told where they are beyond their limits, and unknown ones are no zeros."""

import pytest

from becalm.load.limits import LIMITS, beyond
from becalm.load.record import Load


def load(**columns):
    return Load(0, 0, 0, 10**9, **columns)


@pytest.mark.parametrize(("errors", "kinds"), [(2, []), (3, ["network_errors"]), (250, ["network_errors"])])
def test_a_few_errors_of_few_packets(errors, kinds):
    exceeded = beyond([load(net_errors=errors, net_packets=100)])
    assert [excess.limit.kind for excess in exceeded] == kinds
    assert all((excess.events, excess.of) == (errors, 100) for excess in exceeded)


def test_loads_count_together_and_the_limit_itself_is_allowed():
    quiet = load(net_errors=0, net_packets=8_000, nfs_retransmissions=0, nfs_calls=40)
    bad = load(net_errors=4, net_packets=8_000, nfs_retransmissions=4, nfs_calls=40)
    assert [limit.limit.kind for limit in beyond([quiet, bad])] == []
    assert {limit.limit.kind for limit in beyond([bad, bad])} == {limit.kind for limit in LIMITS}
    assert [(limit.events, limit.of) for limit in beyond([bad, bad])] == [(8, 16_000), (8, 80)]


def test_unknown_values_are_left_out_and_not_taken_for_zero():
    unknown = load(net_errors=None, net_packets=10**9)
    bad = load(net_errors=10, net_packets=1000)
    assert [limit.of for limit in beyond([unknown, bad])] == [1000]
    assert beyond([unknown]) == []
    assert beyond([]) == []
