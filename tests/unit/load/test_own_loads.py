"""Loads of single runs, in memory and in a store: the same, and read for the runs that are asked for."""

import pytest
from tests.support.store_examples import FACTS, STUDY, run

from becalm.load.own_loads import OwnLoads
from becalm.load.record import Load
from becalm.store import Store

LOADS = [Load(seq, last, 10**18, 100 + seq) for seq, last in ((0, 0), (1, 3), (4, 4), (5, 5), (6, 9))]


@pytest.fixture(params=["memory", "store"])
def own(request, tmp_path):
    if request.param == "memory":
        yield OwnLoads.of(LOADS)
        return
    with Store.open(str(tmp_path / "runs.db")) as store:
        number, other = (store.begin(STUDY, FACTS) for _ in range(2))
        store.append(number, [run(seq) for seq in range(10)])
        store.append_loads(other, LOADS[:2])
        store.append_loads(number, LOADS)
        yield store.own_loads(number)


def test_only_those_that_cover_one_run(own):
    assert own.seqs.tolist() == [0, 4, 5]
    assert own.read([0, 5]) == {0: LOADS[0], 5: LOADS[3]}
    assert own.read([]) == {}


def test_without_any():
    assert OwnLoads.of().seqs.tolist() == []
