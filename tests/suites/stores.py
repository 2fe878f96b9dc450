"""Promises of every store, over the table of stores: one more row is one more run of these tests.

A tier gives the fixture `row`.
"""

import contextlib
import threading

import numpy as np
import pytest
from tests.directories import use_directories
from tests.postgresql import database
from tests.support.load_examples import LOADS, OTHERS, SERIES, begin
from tests.support.store_examples import FACTS, STUDY, run
from tests.waiting import HANG_LIMIT_S

from becalm.errors import StoreError, UsageError
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.store.location import TABLE
from becalm.store.schema import LOAD, TEXT
from becalm.store.schema import OTHERS as OTHERS_TABLE
from becalm.store.schema import SERIES as SERIES_TABLE

SERVERS = ("postgresql",)
"""Kinds of stores that need a server: they are tried in tests/system."""


@pytest.fixture
def memory_location():
    return ":memory:"


@pytest.fixture
def sqlite_location(tmp_path):
    return str(tmp_path / "runs.db")


@pytest.fixture
def postgresql_location(postgresql_server):
    return database(postgresql_server)


@pytest.fixture
def location(request, row, tmp_path, monkeypatch):
    """Return an empty store of a kind, by the fixture `KIND_location`."""
    use_directories(monkeypatch, tmp_path)
    return request.getfixturevalue(f"{row.kind}_location")


@pytest.fixture
def lasting(row, location):
    """Return an empty store that is still there when it is closed."""
    if not row.lasts:
        pytest.skip(f"{row.kind}: {row.what}")
    return location


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened


def test_a_name_is_of_one_kind(row, location):
    assert row.what
    assert next(item for item in TABLE if location.startswith(item.begins)) is row


def test_runs_that_are_lost_at_the_end_are_known(store):
    """Nothing comes after them that would leave a gap; of a study that was ended there are those that it had."""
    number, ended = store.begin(STUDY, FACTS), store.begin(STUDY, FACTS)
    for first in range(0, 60, 20):
        store.append(number, [run(seq) for seq in range(first, first + 20)])
    store.append(ended, [run(0), run(1)])
    with store._writing() as db:
        db.execute("DELETE FROM run WHERE study_id = :number AND seq IN (7, 58, 59)", number=number)
    states = {study.number: (study.runs, study.rows, study.missing, study.missing_at_end) for study in store.studies()}
    assert states == {number: (57, 57, 3, 2), ended: (2, 2, 0, 0)}
    with store._writing() as db:
        db.execute("DELETE FROM run WHERE study_id = :number", number=number)
    assert (store.study(number).missing, store.study(number).missing_at_end) == (60, 60)


def test_a_whole_study_is_as_it_was_stored(store):
    """The checksums are of what a database returns, however it stores texts and numbers."""
    study = Study("run", (Workload.of("caf\udce9 ✗"), Workload.of("b")), options={"x": [1.5, None, "\0"]}, title="\0✗")
    number = store.begin(study, {"host": {"cpu": "µ"}}, created_ns=2**60)
    store.add_settings(number, 1, Settings({"aslr": "off"}))
    assert store.study(number).wrong == ""
    with store._writing() as db:
        db.execute("UPDATE study SET title = 'another' WHERE id = :number", number=number)
    assert "something in its title" in store.studies()[0].changed


def test_averages_are_those_of_the_columns(store):
    number = store.begin(STUDY, FACTS)
    rows = [run(seq, user_ns=seq, system_ns=2 * seq, wait_ns=None if seq == 4 else 1) for seq in range(10)]
    store.append(number, [*rows, run(10, outcome="failed", user_ns=10**9), run(12, round=-1, user_ns=10**9)])
    averages = store.averages(number, 0)
    assert averages.user_ns == np.mean(store.columns(number, ["user_ns"], 0)["user_ns"]) == 4.0
    assert averages.system_ns == 8.0
    assert averages.wait_ns is None, "one is unknown"
    assert averages.max_rss_bytes == 1 << 20


def test_studies_of_a_group_are_found(store):
    plain, *grouped = (
        store.begin(Study("run", (Workload.of("x"),), options={"group": group} if group else {}), FACTS)
        for group in ("", "g", "g")
    )
    assert store.in_group("g") == grouped
    assert plain not in store.in_group("g")


def test_missing_runs_are_found(store):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(seq) for seq in range(0, 3000, 2)])
    assert store.missing(number, range(3000)) == set(range(1, 3000, 2))
    assert store.missing(number, []) == set()


def test_appended_runs_are_read_back(store):
    number = store.begin(STUDY, FACTS)
    rows = [run(0, round=-1), run(1), run(2, outcome="failed", status=-11), run(3, wall_ns=2**62, cpu=0, apart_ns=-3)]
    store.append(number, rows[:2])
    store.append(number, rows[2:], {2: ("bo\0om ✗", ""), 3: ("", "out")})
    assert list(store.runs(number)) == rows
    assert store.texts(number) == {2: ("bo�om ✗", ""), 3: ("", "out")}
    stored = store.study(number)
    assert stored.study == STUDY
    assert (stored.runs, stored.environment, stored.facts) == (4, "known", FACTS)


def test_columns_are_those_of_good_counted_runs(store):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0, round=-1), run(2), run(4, outcome="timeout"), run(6), run(1)])
    columns = store.columns(number, ["seq", "wall_ns", "wait_ns"], 0)
    assert columns["seq"].tolist() == [2, 6]
    assert np.isnan(columns["wait_ns"]).all(), "unknown is never zero"
    assert store.columns(number, ["seq"], 5)["seq"].tolist() == []


def test_studies_are_numbered_and_found(store):
    assert store.studies() == []
    with pytest.raises(UsageError, match="empty"):
        store.resolve("last")
    first, second = store.begin(STUDY, FACTS), store.begin(Study("run", (Workload.of("x"),)), FACTS)
    assert [study.number for study in store.studies()] == [second, first]
    assert [study.number for study in store.studies(kind="run")] == [second]
    assert store.resolve("last") == second
    assert store.resolve(str(first)) == first
    for bad in ("99", "x", "", "²", "9" * 30, "-2"):
        with pytest.raises(UsageError):
            store.resolve(bad)


def test_a_run_is_stored_once(store):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0)])
    with pytest.raises(StoreError):
        store.append(number, [run(1), run(0)])
    assert len(list(store.runs(number))) == 1, "a failed append changes nothing"


def test_verdicts_are_added(store):
    number = store.begin(STUDY, FACTS)
    assert store.verdict(number) is None
    store.conclude(number, {"sentence": "first"})
    store.conclude(number, {"sentence": "second"})
    assert store.verdict(number) == {"sentence": "second"}


def test_writes_of_one_block_are_stored_together_or_not_at_all(store):
    with store.together():
        number = store.begin(STUDY, FACTS)
        with store.together():
            store.append(number, [run(0)])
        store.conclude(number, {"sentence": "whole"})
        assert store.study(number).runs == 1, "it reads what it has written"
    assert store.verdict(number) == {"sentence": "whole"}

    def twice():
        with store.together():
            other = store.begin(STUDY, FACTS)
            for _ in range(2):
                store.append(other, [run(0)])

    with pytest.raises(StoreError):
        twice()
    assert [study.number for study in store.studies()] == [number]
    store.append(number, [run(1)])
    assert store.study(number).runs == 2, "afterwards each call is kept again by itself"


def test_text_that_a_database_cannot_hold_is_replaced(store):
    number = store.begin(Study("run", (Workload.of("x"),), title="a\0b\udcffc"), FACTS)
    store.append(number, [run(0)], {0: ("\ud800", "\0")})
    assert store.study(number).study.title == "a�b�c"
    assert store.texts(number) == {0: ("�", "�")}


def test_a_number_that_no_database_holds_is_reported(store):
    number = store.begin(STUDY, FACTS)
    with pytest.raises(StoreError):
        store.append(number, [run(0), run(1, wall_ns=2**63)])
    assert list(store.runs(number)) == []


def test_each_study_has_the_facts_of_its_own_time(store):
    slow = {**FACTS, "cpu": {"governor": "powersave"}}
    numbers = [store.begin(STUDY, facts) for facts in (FACTS, slow, dict(reversed(FACTS.items())))]
    assert [store.study(number).facts for number in numbers] == [FACTS, slow, FACTS]
    with store.reading() as db:
        assert db.value("SELECT count(*) FROM host") == 2, "equal facts are kept once"


def test_opening_again_finds_everything(lasting):
    with Store.open(lasting) as store:
        number = store.begin(STUDY, FACTS)
    with Store.open(lasting) as store:
        assert store.study(number).study == STUDY


def test_a_store_of_another_schema_is_refused(lasting):
    with Store.open(lasting) as store, store._writing() as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(StoreError, match=r"version 99; becalm .* knows version 1"):
        Store.open(lasting)


def test_untimed_runs_are_stored(store):
    number = begin(store)
    before = list(store.runs(number))
    untimed = run(len(before))._replace(wall_ns=None, metrics=(1.5,))
    started = run(len(before) + 1, cpu=1, apart_ns=-700)
    store.append(number, [untimed, started])
    assert list(store.runs(number)) == [*before, untimed, started]
    assert np.isnan(store.columns(number, ("wall_ns",), untimed.workload)["wall_ns"][-1])


def test_files_of_regions_are_read_back(store):
    number = begin(store)
    before = list(store.runs(number))
    assert (list(store.regions(number)), store.region_pieces(number)) == ([], 0)
    pieces = [(0, b"header"), (3, b"\x00\xff" * 40)]
    store.append_regions(number, pieces[:1])
    store.append_regions(number, pieces[1:])
    assert list(store.regions(number)) == [data for _, data in pieces]
    assert store.region_pieces(number) == 2
    assert store.studies()[0].runs == len(before) + 3


@pytest.mark.parametrize("table", ["run_text", "run_load", "run_series", "study", "study_settings"])
def test_every_row_has_a_checksum(store, table):
    number = begin(store)
    store.append(number, [], {3: ("wrong", "said")})
    store.append_loads(number, LOADS, [SERIES])
    with pytest.raises(StoreError), store._writing() as db:
        db.execute(f"UPDATE {table} SET checksum = NULL")


def test_two_writers_take_turns(lasting, monkeypatch):
    monkeypatch.setattr("becalm.store.location.BUSY_S", HANG_LIMIT_S)
    with Store.open(lasting) as store:
        numbers = [store.begin(STUDY, FACTS) for _ in range(2)]

    def write(number):
        with Store.open(lasting) as opened:
            for seq in range(200):
                opened.append(number, [run(seq)])

    threads = [threading.Thread(target=write, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store.open(lasting) as store:
        assert [len(list(store.runs(number))) for number in numbers] == [200, 200]


def test_loads_are_read_back(store):
    number, other = begin(store), begin(store)
    assert (store.loads(number), store.series(number, 5)) == ([], None)
    store.append_loads(number, LOADS[1:])
    store.append_loads(number, LOADS[:1], [SERIES], [OTHERS])
    assert store.loads(number) == LOADS, "in the order of the runs, and unknown is None"
    assert (store.series(number, 5), store.series(number, 4), store.series(other, 5)) == (SERIES, None, None)
    assert (store.all_series(number), store.loads(other)) == ([SERIES], [])
    assert (store.others(number), store.others(other)) == ([OTHERS], [])


TABLES = {
    LOAD: ("load", '"first" = 5'),
    SERIES_TABLE: ("series", '"first" = 5'),
    OTHERS_TABLE: ("others", '"first" = 5'),
    TEXT: ("text", "seq = 4"),
}
"""The content of a table, and the row of it that is changed."""


def changes(column):
    """Yield the changes of a value: another number, another text, unknown, or a value in place of unknown."""
    yield f"coalesce(\"{column.name}\" || 'x', '')" if column.kind == "text" else f'coalesce("{column.name}" + 1, 0)'
    if not column.always:
        yield "NULL"


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_each_column_that_is_changed_is_seen_and_the_rest_is_read(store, table):
    number, other = begin(store), begin(store)
    texts = {3: ("wrong", "said"), 4: ("", "7")}
    for item in (number, other):
        store.append(item, [], texts)
        store.append_loads(item, LOADS, [SERIES], [OTHERS])
    (what, row), whole = TABLES[table], {"load": LOADS, "series": [SERIES], "others": [OTHERS], "text": texts}
    left = {**whole, what: {"load": LOADS[:1], "series": [], "others": [], "text": {3: texts[3]}}[what]}

    def read(study):
        records = {
            "load": store.loads(study),
            "series": store.all_series(study),
            "others": store.others(study),
            "text": store.texts(study),
        }
        return records, store.damaged(study)

    for column, value in ((changed, value) for changed in table.columns for value in changes(changed)):
        # What is raised takes back what was changed.
        with contextlib.suppress(KeyError), store.together(), store._writing() as db:
            if column.name == "study_id":
                db.execute(f"DELETE FROM {table.name} WHERE study_id = {other}")
            at = f"WHERE study_id = {number} AND {row}"
            before = db.value(f'SELECT "{column.name}" FROM {table.name} {at}')
            db.execute(f'UPDATE {table.name} SET "{column.name}" = {value} {at}')
            changed = value != "NULL" or before is not None
            assert read(number) == ((left, {what: (1, len(whole[what]))}) if changed else (whole, {})), column.name
            assert (what in read(other)[1]) == (column.name == "study_id")
            raise KeyError
    assert read(number) == (whole, {})


def test_rows_that_are_gone_are_counted(store):
    number = begin(store)
    store.append(number, [], {3: ("wrong", "said"), 4: ("", "7")})
    store.append_loads(number, LOADS, [SERIES])
    with store._writing() as db:
        db.execute('DELETE FROM run_load WHERE "first" = 5')
        db.execute("DELETE FROM run_text WHERE seq = 3")
        db.execute("DELETE FROM run_series")
    assert (store.loads(number), store.all_series(number), store.texts(number)) == (LOADS[:1], [], {4: ("", "7")})
    assert store.damaged(number) == {"load": (1, 2), "series": (1, 1), "text": (1, 2)}


def test_a_record_is_stored_once_and_a_failure_changes_nothing(store):
    number = begin(store)
    store.append_loads(number, LOADS[:1])
    with pytest.raises(StoreError):
        store.append_loads(number, [LOADS[1], LOADS[0]], [SERIES])
    assert (store.loads(number), store.all_series(number)) == (LOADS[:1], [])
