"""A store damaged at any byte or cut at any length: never a defect, never a changed value, the rest readable."""

import io
import random
import shutil
import sqlite3

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.samples import samples
from tests.support.store_examples import run

from becalm.errors import BecalmError, StoreError
from becalm.load.record import Load, Series
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.terminal import listing
from becalm.store import Store
from becalm.store.checksum import checksums, match_checksums
from becalm.store.schema import REGION_PART
from becalm.study.stored import stored
from becalm.verbs.listing import list_studies
from becalm.verbs.records import export, show
from becalm.wording.findings import finding, reworded

COPIES = samples(60, 400)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with two machines and three studies, and what is in them."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    expected = {}
    with Store.open(str(path)) as store:
        for index in range(3):
            facts = {"host": {"hostname": f"machine {index % 2}", "filler": "x" * 2000}}
            number = store.begin(Study("run", (Workload.of("a"), Workload.of("b")), seed=index), facts)
            rows = [run(seq, wall_ns=10**6 + 977 * seq) for seq in range(60)]
            texts = {seq: (f"said {seq}", "z" * seq) for seq in range(3, 60, 9)}
            store.append(number, rows, texts)
            loads = [Load(seq, seq, seq, 1000, busy_ns=seq, queue=seq / 3, scope="tree") for seq in range(40)]
            series = [Series(seq, seq, ("queue",), ((0, None), (5, seq))) for seq in range(20)]
            store.append_loads(number, loads, series)
            store.conclude(number, {"kind": "run", "sentence": "y" * 500})
            expected[number] = {row.seq: row for row in rows}, loads, series, texts
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode=DELETE")
    return path, expected


def damaged(data, number):
    """Return data with flipped bits, overwritten bytes, a cut, or a page of zeros, in turn, at places that a seed
    chooses."""
    rng = random.Random(number)
    out = bytearray(data)
    place = rng.randrange(100 if number % 2 else 0, len(out))
    if number % 5 == 0:
        return bytes(out[:place])
    if number % 5 == 1:
        out[place : place + 16] = rng.randbytes(16)
    elif number % 5 == 2:
        page = place // 4096 * 4096
        out[page : page + 4096] = bytes(4096)
    else:
        out[place] ^= 1 << rng.randrange(8)
    return bytes(out[: len(data)])


@pytest.fixture
def copy(whole, tmp_path):
    """The path of a copy of the whole store, to be damaged."""
    path, _ = whole
    return shutil.copy(path, tmp_path / "runs.db")


@pytest.mark.parametrize("first", range(0, COPIES, 20))
@pytest.mark.usefixtures("location")
def test_any_damage_is_a_sentence_and_changes_no_value(whole, tmp_path, first):
    path, expected = whole
    data = path.read_bytes()
    refused = []
    described = {study.number: study for study in list_studies(str(path), limit=None).studies}
    for number in range(first, first + 20):
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(damaged(data, number))
        try:
            studies = list_studies(str(copy), limit=None)
        except BecalmError as error:
            refused.append(str(error))
            continue
        Console(file=io.StringIO(), width=80).print(listing(studies.studies))
        for study in studies.studies:
            warnings = []
            if not study.wrong and not study.missing:
                # There may be more rows than were stored; they are looked at when they are read.
                assert replace(study, runs=60, rows=60) == described[study.number], f"copy {number}"
                assert study.rows >= 60, f"copy {number}"
            try:
                document = stored(study.number, str(copy), warned=warnings.append)
            except BecalmError:
                continue
            rows, loads, series, texts = expected[study.number]
            # Their moments are counted from that of their study.
            began_ns = document.created_ns - described[study.number].created_ns
            for row in document.runs:
                assert rows[row.seq] == row._replace(started_ns=row.started_ns - began_ns), f"copy {number}"
            for load in document.loads:
                assert loads[load.first] == load._replace(started_ns=load.started_ns - began_ns), f"copy {number}"
            assert all(part in series for part in document.series), f"copy {number}"
            assert document.texts.items() <= texts.items(), f"copy {number}"
            if not warnings:
                assert [*map(len, (document.loads, document.series, document.texts))] == [40, 20, 7], f"copy {number}"
                assert len(document.runs) == 60, f"copy {number}"
                assert (document.study, document.created_ns) == (
                    described[study.number].study,
                    described[study.number].created_ns,
                ), f"copy {number}"
    assert all(sentence.startswith("The ") and "Nothing in it was changed." in sentence for sentence in refused)


def test_a_bad_host_costs_its_studies_only(copy):
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE host SET facts = substr(facts, 3) WHERE id = 1")
    damaged_studies = {study.number: study.damaged for study in list_studies(str(copy)).studies}
    assert [number for number, sentences in damaged_studies.items() if sentences] == [3, 1]
    assert damaged_studies[1] == "the facts of its machine cannot be read"
    with pytest.raises(StoreError, match=r"Study 1 in the store .* is damaged: the facts of its machine"):
        stored(1, str(copy))
    assert len(stored(2, str(copy)).runs) == 60


def test_a_changed_run_is_left_out_and_told(copy):
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE run SET wall_ns = wall_ns + 1 WHERE study_id = 2 AND seq = 7")
        db.execute("UPDATE run SET user_ns = NULL WHERE study_id = 2 AND seq = 8")
        db.execute("UPDATE run SET wait_ns = 'x' WHERE study_id = 2 AND seq = 9")
    messages = []
    assert [run.seq for run in stored(2, str(copy), warned=messages.append).runs] == [*range(7), *range(10, 60)]
    assert messages[0].startswith("3 of 60 runs of study 2 are damaged")


@pytest.mark.parametrize("damage", ["x''", "''", "'0'", "0.0"])
def test_a_zero_of_another_type_is_no_zero(copy, damage):
    with sqlite3.connect(copy) as db:
        db.execute(f"UPDATE run SET outcome = cast({damage} AS BLOB) WHERE study_id = 2 AND seq = 7")
        db.execute(f"UPDATE run SET left_behind = {damage} WHERE study_id = 2 AND seq = 8")
    rows = {run.seq: run for run in stored(2, str(copy)).runs}
    assert 7 not in rows
    assert 8 not in rows or type(rows[8].left_behind) is int, "SQLite itself makes 0 of '0' and 0.0"


def test_runs_that_a_page_no_longer_holds_are_reported(copy):
    """SQLite does not notice that cells are gone from a page; their numbers tell."""
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM run WHERE study_id = 2 AND seq IN (0, 7, 8)")
        # One of them damaged alongside: it leaves a gap, too.
        db.execute("UPDATE run SET wall_ns = wall_ns + 1 WHERE study_id = 2 AND seq = 11")
        # Whose number itself is another one, and behind which comes nothing.
        db.execute("UPDATE run SET seq = 1000000 WHERE study_id = 3 AND seq = 5")
    messages = []
    assert len(stored(2, str(copy), warned=messages.append).runs) == 56
    assert len(stored(3, str(copy), warned=messages.append).runs) == 59
    assert len(stored(1, str(copy), warned=messages.append).runs) == 60
    assert [message.partition(" are damaged")[0] for message in messages] == [
        "4 of 60 runs of study 2",
        "1 of 60 runs of study 3",
    ]


def test_runs_that_are_lost_at_the_end_are_reported(copy):
    """They leave no gap; the count that was stored with them tells."""
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM run WHERE study_id = 2 AND seq >= 55")
        db.execute("DELETE FROM run WHERE study_id = 3 AND seq = 59")
        db.execute("DELETE FROM verdict WHERE study_id = 1")
    messages = []
    for number in (1, 2, 3):
        stored(number, str(copy), warned=messages.append)
        stored(number, str(copy), warned=messages.append, later=True)
    assert [message.partition(": ")[0] for message in messages] == [
        *["In study 2 the last 5 of its 60 runs are missing"] * 2,
        *["In study 3 the last run of its 60 runs is missing"] * 2,
    ]
    shown = io.StringIO()
    Console(file=shown, width=100).print(listing(list_studies(str(copy)).studies))
    assert "damaged: the last 5 of its 60 runs are missing" in shown.getvalue()
    assert shown.getvalue().count("damaged") == 2


def test_a_last_run_that_only_some_queries_find_hides_no_others(copy, monkeypatch):
    """SQLite may find the largest number in a damaged tree, and no way to the rows before it."""
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM run WHERE study_id = 2 AND seq >= 55")
    monkeypatch.setattr("becalm.store.counts.missing_at_end", lambda *_: 0)
    messages = []
    assert len(stored(2, str(copy), warned=messages.append).runs) == 55
    assert messages[0].startswith("5 of 60 runs of study 2 are damaged")


def test_rows_that_are_lost_alongside_runs_are_reported(copy):
    with Store.open(str(copy)) as store:
        store.notice(1, finding("setting_changed", {"place": "/x", "wanted": "1", "found": "2", "knob": "aslr"}))
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM study_settings WHERE study_id = 2")
        db.execute("DELETE FROM study_noticed")
        db.execute("UPDATE study_count SET runs = 70 WHERE study_id = 3")
    with Store.open(str(copy)) as store:
        assert {study.number: (study.damaged, study.missing) for study in store.studies()} == {
            1: ("", 0),
            2: ("its settings cannot be read", 0),
            3: ("", 0),
        }
        assert store.studies()[0].changed.startswith("something in its counts")
        with pytest.raises(StoreError, match=r"What was noticed of study 1 in the store .* is damaged"):
            store.noticed(1, reworded)


DESCRIPTION = "something in its title, options, programs or date is not as it was stored"
CHANGES = {
    "kind": ("study", "kind = 'tune'", DESCRIPTION),
    "title": ("study", "title = title || 'x'", DESCRIPTION),
    "date": ("study", "created_ns = created_ns + 1", DESCRIPTION),
    "version": ("study", "becalm = '9'", DESCRIPTION),
    "machine": ("study", "host_id = 3 - host_id", DESCRIPTION),
    "host": ("study", "host_name = 'other'", DESCRIPTION),
    "seed": ("study", "seed = seed + 1", DESCRIPTION),
    "options": ("study", """options = '{"budget_ns": 5}'""", DESCRIPTION),
    "environment": ("study", "environment = 'unknown'", DESCRIPTION),
    "program": ("study_workload", """description = replace(description, '"a"', '"x"')""", DESCRIPTION),
    "order": ("study_workload", "position = -position", DESCRIPTION),
    "settings": (
        "study_settings",
        """knobs = '{"aslr": "off"}'""",
        "something in its settings is not as it was stored",
    ),
    "facts": (
        "host",
        "facts = replace(facts, 'xx', 'xy')",
        "something in the facts of its machine is not as it was stored",
    ),
    "count": ("study_count", "runs = runs - 1", "something in its counts of runs and settings is not as it was stored"),
}
"""The parts of a study that a statement changes, and that still can be read."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_description_is_told_and_the_runs_are_shown(copy, change):
    table, to, text = CHANGES[change]
    before = {study.number: study for study in list_studies(str(copy)).studies}
    row = {"study": "id = 2", "host": "id = 2"}.get(table, "study_id = 2")
    with sqlite3.connect(copy) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(f"UPDATE {table} SET {to} WHERE {row}")
    after = {study.number: study for study in list_studies(str(copy)).studies}
    assert after[2].changed == text
    assert [after[number] for number in (1, 3)] == [before[number] for number in (1, 3)]
    warned = []
    document = stored(2, str(copy), warned=warned.append)
    assert warned[0].endswith(f"is damaged: {text}. Its runs have their own checksums.")
    assert [run.wall_ns for run in document.runs] == [10**6 + 977 * seq for seq in range(60)]
    with pytest.raises(StoreError, match=r"Study 2 in the store .* is damaged: .* becalm show 2"):
        stored(2, str(copy))
    if change != "kind":
        shown = show(2, str(copy), warned=warned.append)
        assert (len(shown.document.runs), warned[1]) == (60, warned[0])
        assert shown.sentence


def test_an_export_of_a_damaged_study_has_all_its_runs(copy):
    """A sentence that refuses to show a study names this way to its runs."""
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE verdict SET json = '[' WHERE study_id = 1")
        db.execute("DELETE FROM study_workload WHERE study_id = 2")
        db.execute("UPDATE study_workload SET description = '[' WHERE study_id = 3")
    for number, message in ((1, "The verdict of study 1"), (2, "something in its title"), (3, "its programs cannot")):
        warned = []
        text = export(number, format="csv", store=str(copy), warned=warned.append)
        assert message in warned[0]
        assert len(text.splitlines()) == 61
    with pytest.raises(StoreError, match="becalm export 3 --format csv"):
        show(3, str(copy))


def test_another_digit_in_what_was_noticed_is_seen(copy):
    with Store.open(str(copy)) as store:
        store.notice(2, finding("setting_changed", {"place": "/x", "wanted": "1", "found": "2", "knob": "aslr"}))
        with store._writing() as db:
            db.execute("UPDATE study_noticed SET finding = replace(finding, '2', '3')")
        with pytest.raises(StoreError, match=r"What was noticed of study 2 in the store .* is damaged"):
            store.noticed(2, reworded)


def test_a_verdict_of_another_study_is_none_of_this_one(copy):
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE verdict SET study_id = 2 WHERE study_id = 3")
        db.execute("UPDATE verdict SET created_ns = created_ns + 1 WHERE study_id = 1")
    with Store.open(str(copy)) as store:
        for number in (1, 2):
            with pytest.raises(StoreError, match=rf"The verdict of study {number} in the store .* is damaged"):
                store.verdict(number)


@pytest.mark.parametrize("column", [column.name for column in REGION_PART.columns])
def test_a_changed_row_of_a_file_of_regions_is_an_empty_piece(copy, column):
    pieces = [(0, b"head"), (5, b"five"), (7, b"seven")]
    with Store.open(str(copy)) as store:
        store.append_regions(2, pieces)
    with sqlite3.connect(copy) as db:
        to = "x'00'" if column == "data" else f"{column} + {1 if column == 'study_id' else 10}"
        db.execute(f"UPDATE region_part SET {column} = {to} WHERE position = 1")
    with Store.open(str(copy)) as store:
        whole = [b"head", b"seven"]
        assert [piece for piece in store.regions(2) if piece] == whole
        assert store.region_pieces(2) == len(list(store.regions(2))) == 3
        assert not any(store.regions(3))
        listed = {study.number: study.changed for study in store.studies()}
    message = "something in its number of regions is not as it was stored"
    assert listed[2] == (message if column in ("study_id", "records") else "")
    assert listed[3] == (message if column == "study_id" else "")


def test_another_digit_in_a_verdict_is_seen(copy):
    with Store.open(str(copy)) as store, store._writing() as db:
        db.execute("UPDATE verdict SET json = replace(json, 'yyy', 'yxy') WHERE study_id = 2")
    with Store.open(str(copy)) as store:
        assert store.verdict(1) == store.verdict(3) == {"kind": "run", "sentence": "y" * 500}
        with pytest.raises(StoreError, match=r"The verdict of study 2 in the store .* is damaged"):
            store.verdict(2)
        assert len(list(store.runs(2))) == 60


def test_every_single_change_of_a_row_is_seen():
    rng = random.Random(4)

    def value():
        return rng.choice([None, rng.randrange(-(2**63), 2**63), rng.randrange(100)])

    rows = [[value() for _ in range(19)] for _ in range(300)]
    before = checksums(rows)
    assert len(set(before)) > 295
    assert all(0 <= table < 2**31 for table in before)
    for row, check in zip(rows, before, strict=True):
        assert match_checksums([row], [check]) == [True]
        place = rng.randrange(19)
        old = row[place]
        new = rng.choice([0, 1, -1, 2**62]) if old is None else old ^ (1 << rng.randrange(62))
        assert match_checksums([[*row[:place], new, *row[place + 1 :]]], [check]) == [False]
    assert match_checksums([[*row, None] for row in rows], before) == [True] * 300, (
        "one more column that is unknown changes nothing"
    )


@pytest.mark.parametrize(
    "damage",
    [
        "[",
        "{}",
        '{"kind": "setting_clampee", "numbers": {}, "program": ""}',
        '{"kind": "setting_clamped", "numbers": {}, "program": ""}',
        '{"kind": "setting_clamped", "numbers": 5, "program": ""}',
    ],
)
def test_a_damaged_remark_on_settings_is_a_sentence(tmp_path, damage):
    with Store.open(str(tmp_path / "runs.db")) as store:
        number = store.begin(Study("run", (Workload.of("a"),)), {})
        store.append(number, [run(0)])
        store.notice(number, finding("setting_changed", {"place": "/x", "wanted": "1", "found": "2", "knob": "aslr"}))
        assert [notice.kind for notice in store.noticed(number, reworded)] == ["setting_changed"]
        with store._writing() as db:
            db.execute("UPDATE study_noticed SET finding = :damage", damage=damage)
        with pytest.raises(StoreError, match=f"What was noticed of study {number} in the store .* is damaged"):
            store.noticed(number, reworded)
        assert len(list(store.runs(number))) == 1
