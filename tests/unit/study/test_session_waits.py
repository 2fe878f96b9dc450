"""`--by bpf`: which hosts can count whom programs wait for, and what contradicts it."""

import pytest

import becalm
from becalm.errors import UsageError


def test_a_simulated_host_has_no_kernel_that_counts():
    with pytest.raises(UsageError, match="--by counts whom programs wait for, which sim:drift cannot"):
        becalm.run("spin 20ms", host="sim:drift", runs=2, by="bpf", store=False)


def test_without_load_nothing_is_counted():
    with pytest.raises(UsageError, match="--by counts whom programs wait for, which --no-load leaves out"):
        becalm.run("spin 20ms", host="sim:drift", runs=2, by="bpf", load=False, store=False)


def test_other_means_are_named():
    with pytest.raises(UsageError, match="--by is one of bpf, not 'perf'"):
        becalm.run("spin 20ms", host="sim:drift", runs=2, by="perf", store=False)
