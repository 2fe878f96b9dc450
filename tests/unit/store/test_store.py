"""Stores in files that are odd, full, locked or cut, and imports. What every store promises is in conformance."""

import json
import multiprocessing
import sqlite3
import stat
from dataclasses import replace

import pytest

from becalm.errors import StoreError, UsageError
from becalm.nouns.metric import metrics
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.verbs.records import export, import_

STUDY = Study(
    "compare",
    (Workload.of("a 'b c'", environment={"K": "\udcff"}), Workload.of("d")),
    (Settings.of({"nice": 3}),),
    {"budget_ns": 5, "precision": None},
    seed=2**32 - 1,
    title="a title",
)
FACTS = {"host": {"hostname": "x"}, "kernel": {"release": "6.1"}}


def run(seq, **changes):
    base = Run(seq, seq % 2, 0, seq // 2, 7, 10**18 + seq, 1000 + seq, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)
    return base._replace(**changes)


def test_a_failed_import_leaves_nothing(location, tmp_path):
    with Store.open(location) as store:
        store.append(store.begin(STUDY, FACTS), [run(0)])
    document = json.loads(export("last", store=location))
    path = tmp_path / "exported.json"
    path.write_text(json.dumps(document))
    assert import_(path, location) == (2,)
    rows = document["runs"]["rows"]
    rows.append(list(rows[0]))
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="two runs have the same seq"):
        import_(path, location)
    # This one is found when all of it has been written already.
    document["study"]["kind"] = "dance"
    del rows[-1]
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"was not imported: .* could not be shown"):
        import_(path, location)
    with Store.open(location) as store:
        assert [each.number for each in store.studies()] == [2, 1]


def test_a_study_with_the_number_of_one_that_is_gone_has_times_of_its_own(store):
    def fails():
        with store.together():
            number = store.begin(STUDY, {}, created_ns=10**9)
            store.append(number, [run(0)])
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    again = store.begin(STUDY, {}, created_ns=7 * 10**9)
    store.append(again, [run(0), run(1)])
    assert [each.started_ns for each in store.runs(again)] == [run(0).started_ns, run(1).started_ns]


def _measure(path, barrier, seed):
    barrier.wait()
    with Store.open(path) as store:
        number = store.begin(replace(STUDY, seed=seed), FACTS)
        for seq in range(0, 40, 2):
            store.append(number, [run(seq, wall_ns=seed + 1), run(seq + 1, wall_ns=seed + 1)], {seq: (f"{seed}", "")})
        store.conclude(number, {"kind": "compare", "seed": seed})


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
        found = store.studies()
        assert sorted(each.study.seed for each in found) == list(range(8))
        for each in found:
            rows = list(store.runs(each.number))
            assert [row.seq for row in rows] == list(range(40))
            assert {row.wall_ns for row in rows} == {each.study.seed + 1}
            assert set(store.texts(each.number).values()) == {(f"{each.study.seed}", "")}
            assert store.verdict(each.number)["seed"] == each.study.seed
            assert store.damaged(each.number) == {}


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


def test_the_file_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("BECALM_STORE", raising=False)
    with Store.open() as store:
        store.begin(STUDY, FACTS)
    directory = tmp_path / "becalm"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "becalm.db").stat().st_mode) == 0o600


def test_what_cannot_be_a_store(tmp_path):
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database at all" * 200)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE things (x)")
    for path, words in (
        (damaged, "not an SQLite file"),
        (other, "other tables"),
        (tmp_path, "directory"),
        ("/proc/nowhere/x.db", "cannot be made"),
        ("mysql://x/y", "mysql"),
        ("postgresql:///x?host=/no/such/socket", "cannot be reached"),
    ):
        with pytest.raises(StoreError, match=words):
            Store.open(str(path))


def test_a_store_cut_in_half_says_so(tmp_path):
    path = tmp_path / "cut.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        store.append(number, [run(seq) for seq in range(5000)])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match=r"damaged|failed|malformed"), Store.open(str(path)) as store:
        list(store.runs(number))


def test_a_locked_store_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("becalm.store.location.BUSY_S", 0.05)
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                store.append(number, [run(0)])
            other.execute("ROLLBACK")
        store.append(number, [run(0)])


def test_a_full_disk_says_so(tmp_path):
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        with store._reading() as db:
            pages = db.value("PRAGMA page_count")
            db.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="full"):
            store.append(number, [run(seq) for seq in range(20_000)])
        assert list(store.runs(number)) == []


def test_a_list_without_facts_keeps_none_of_them(store):
    """Ten thousand studies with 12 KB each were 690 MiB."""
    number = store.begin(STUDY, FACTS)
    (found,) = store.studies(facts=False)
    assert (found.number, found.facts, found.damaged) == (number, {}, "")
    assert store.studies()[0].facts == FACTS


def test_what_programs_printed_is_kept_with_their_runs(store):
    study = Study("run", (Workload(("x",), name="x", metrics=metrics("(x)")),), (Settings(),), {}, 1)
    number = store.begin(study, {})
    warm = run(2, round=-1, metrics=(7.0, 1.0))
    rows = [run(0, metrics=(0.1, 3e9)), run(1), warm, run(3, workload=0, metrics=(5.0, 6.0))]
    store.append(number, rows)
    assert list(store.runs(number)) == rows
    assert store.damaged(number) == {}
    seqs, values = store.metrics(number, 0)
    assert seqs.tolist() == [0, 3], "warm-ups and runs without any are no part of it"
    assert values.tolist() == [[0.1, 3e9], [5.0, 6.0]]
    assert store.study(number).study == study


def test_a_changed_metric_is_seen(store):
    number = store.begin(Study("run", (Workload(("x",), name="x"),), (Settings(),), {}, 1), {})
    store.append(number, [run(0, metrics=(5.0,)), run(1, metrics=(6.0,))])
    with store._writing() as db:
        db.execute("UPDATE run SET metrics = '[4.0]' WHERE seq = 0")
    assert [each.seq for each in store.runs(number)] == [1]
    assert store.damaged(number) == {"run": (1, 2)}
