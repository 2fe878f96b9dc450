"""Processes that write into one store at the same time; a tier gives the fixture location."""

import multiprocessing

import pytest
from msgspec.structs import replace
from tests.support.store_examples import FACTS, STUDY, run
from tests.waiting import HANG_LIMIT_S

from becalm.store import Store


def _measure(path, barrier, seed):
    barrier.wait()
    with Store.open(path) as store:
        number = store.begin(replace(STUDY, seed=seed), FACTS)
        for seq in range(0, 40, 2):
            store.append(number, [run(seq, wall_ns=seed + 1), run(seq + 1, wall_ns=seed + 1)], {seq: (f"{seed}", "")})
        store.conclude(number, {"kind": "compare", "seed": seed})


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Have a writer wait for the others as long as it takes on a busy machine."""
    monkeypatch.setattr("becalm.store.location.BUSY_S", HANG_LIMIT_S)


def test_eight_becalms_write_into_one_at_once(location):
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(8)
    processes = [fork.Process(target=_measure, args=(location, barrier, seed)) for seed in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    with Store.open(location) as store:
        studies = store.studies()
        assert sorted(document.study.seed for document in studies) == list(range(8))
        for study in studies:
            rows = list(store.runs(study.number))
            assert [row.seq for row in rows] == list(range(40))
            assert {row.wall_ns for row in rows} == {study.study.seed + 1}
            assert set(store.texts(study.number).values()) == {(f"{study.study.seed}", "")}
            assert store.verdict(study.number)["seed"] == study.study.seed
            assert store.damaged(study.number) == {}


def _open(path, barrier):
    barrier.wait()
    Store.open(path).close()


def test_two_may_create_it_at_once(location):
    barrier = multiprocessing.get_context("fork").Barrier(4)
    processes = [multiprocessing.get_context("fork").Process(target=_open, args=(location, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
