"""Records of load in a store; a tier gives the fixtures location and store."""

import json

import pytest
from tests.support.load_examples import LOADS, OTHERS, SERIES, begin

from becalm.errors import UsageError
from becalm.load.record import LOAD_COLUMNS
from becalm.store import loads as recorded
from becalm.study.stored import stored
from becalm.verbs.records import export, import_


def test_loads_travel_with_their_study(store, location, tmp_path):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES], [OTHERS])
    text = export(number, store=location)
    assert "steal_ns" not in json.loads(text)["loads"]["columns"], "what is unknown in all of them is left out"
    path = tmp_path / "exported.json"
    value = json.loads(text)
    value["study"]["title"] = "copy"
    path.write_text(json.dumps(value))
    (copy,) = import_(path, location)
    document = stored(copy, location)
    assert (list(document.loads), list(document.series), list(document.others)) == (LOADS, [SERIES], [OTHERS])


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"columns": ["first"], "rows": [[1]]}, "is not laid out as becalm's: it lacks 'last'"),
        ({"columns": list(LOAD_COLUMNS), "rows": [["x", *LOADS[0][1:]]]}, "cannot be read"),
        ({"columns": list(LOAD_COLUMNS), "rows": [[True, *LOADS[0][1:]]]}, "cannot be read"),
        ({"columns": list(LOAD_COLUMNS), "rows": [LOADS[0][:-1]]}, "cannot be read"),
        ({"rows": [[1]]}, "is not laid out as becalm's: it lacks 'columns'"),
    ],
)
def test_broken_loads_are_refused(store, location, tmp_path, broken, message):
    value = json.loads(export(begin(store), store=location))
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({**value, "loads": broken}))
    with pytest.raises(UsageError, match=message):
        import_(path, location)
    path.write_text(json.dumps({**value, "series": [{**SERIES.to_json(), "rows": [[0, 1]]}]}))
    with pytest.raises(UsageError, match="cannot be read"):
        import_(path, location)


def test_damaged_loads_are_reported_in_one_sentence_and_the_rest_is_exported(store, location, tmp_path):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES])
    store.append(number, [], {3: ("wrong", "said")})
    with store._writing() as db:
        db.execute("UPDATE run_load SET busy_ns = 8 WHERE busy_ns = 7")
        db.execute("UPDATE run_text SET stderr = 'right'")
    messages = []
    document = stored(number, location, warned=messages.append)
    assert messages == [
        f"1 of 2 records of load and 1 of 1 output of study {number} are damaged: they are not as they were "
        "stored, and are left out. Check the disk, and move the store aside; `becalm export` saves the rest."
    ]
    assert stored(number, location, warned=messages.append, later=True).loads == LOADS[1:]
    assert messages[1:] == messages[:1]
    path = tmp_path / "exported.json"
    value = json.loads(export(number, store=location))
    value["study"]["title"] = "saved"
    path.write_text(json.dumps(value))
    (copy,) = import_(path, location)
    saved = stored(copy, location, warned=messages.append)
    assert (len(messages), saved.loads, saved.series, saved.texts) == (2, document.loads, [SERIES], {})


@pytest.mark.parametrize("damage", ["NaN", "[", '{"first": 5}', "Infinity"])
def test_a_damaged_series_is_left_out_and_costs_nothing_else(store, damage):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES])
    with store._writing() as db:
        checksum = recorded._series_checksum(number, SERIES.first, SERIES.last, damage)
        db.execute("UPDATE run_series SET series = :damage, checksum = :checksum", damage=damage, checksum=checksum)
    assert (store.series(number, 5), store.all_series(number)) == (None, [])
    assert store.damaged(number) == {"series": (1, 1)}
    assert (len(list(store.runs(number))), store.loads(number)) == (6, LOADS)
