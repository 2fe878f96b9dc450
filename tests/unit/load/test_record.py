"""The nouns Load and Series: their columns are the engine's, and what comes in is looked at."""

import math
import types
import typing

import pytest

from becalm.load.record import LOAD_COLUMNS, Load, Series, load_of, pooled
from becalm.nouns.tables import load_columns

FORMS = {"integer": int, "real": float, "word": str}
FIRST = ("first", "last", "started_ns", "interval_ns", "samples", "level", "scope")


def test_its_fields_are_the_columns_of_the_engine():
    assert tuple(column.name for column in load_columns()) == LOAD_COLUMNS
    kinds = typing.get_type_hints(Load)
    for column in load_columns():
        kind = FORMS[column.form]
        assert kinds[column.name] == (kind if column.always else kind | types.NoneType), column.name
        assert column.meaning in getattr(Load, column.name).__doc__


def test_columns_that_are_always_known():
    assert tuple(column.name for column in load_columns() if column.always) == FIRST


def test_units_are_in_the_names():
    for column in load_columns():
        for unit, end in (("ns", "_ns"), ("bytes", "_bytes"), ("kHz", "_khz")):
            assert (column.unit == unit) == column.name.endswith(end), column.name


def test_exposed_metrics_follow_the_naming_rules_of_prometheus():
    ends = {"ns": "_seconds_total", "bytes": "_bytes_total", "kHz": "_hertz", "CPUs": "_cpus"}
    for column in load_columns():
        metric = column.metric.partition("{")[0]
        assert not metric or column.subject == "machine", column.name
        if metric:
            wanted = ends.get(column.unit, "_total" if column.kind == "difference" else f"_{column.unit}")
            assert metric.endswith(wanted), column.name
            assert ("_total" in metric) == (column.kind == "difference")


@pytest.mark.parametrize("wrong", ["x", True, math.nan, math.inf])
@pytest.mark.parametrize("name", ["busy_ns", "queue", "interval_ns"])
def test_a_value_of_another_kind_is_refused(name, wrong):
    row = {**Load(0, 0, 0, 5)._asdict(), name: wrong}
    with pytest.raises(ValueError, match=name):
        load_of(list(row), list(row.values()))


def test_an_older_record_lacks_columns_and_a_newer_one_has_others():
    assert load_of(("first", "last", "started_ns", "interval_ns", "samples", "level", "scope", "flux"),
                   (1, 2, 3, 4, 0, 1, "tree", 9)) == Load(1, 2, 3, 4, level=1, scope="tree")  # fmt: skip
    with pytest.raises(KeyError):
        load_of(("first", "last", "started_ns"), (1, 2, 3))


def test_records_are_put_together_as_their_rows_say():
    load = Load(3, 5, 100, 10, cpus=2, busy_ns=4, queue=1.0, queue_peak=2, samples=1, frequency_khz=1000, level=3)
    two = Load(6, 6, 110, 30, cpus=2, busy_ns=8, queue=3.0, queue_peak=7, samples=3, frequency_khz=2001, level=1)
    whole = pooled([load, two])
    assert (whole.first, whole.last, whole.started_ns, whole.interval_ns) == (3, 6, 100, 40)
    assert (whole.busy_ns, whole.queue, whole.queue_peak, whole.samples) == (12, 2.5, 7, 4)
    assert (whole.frequency_khz, whole.level, whole.steal_ns) == (1751, 1, None)
    assert pooled([load]) == load


def test_pooled_loads_are_unknown_where_one_is_except_samples():
    first, second = Load(0, 0, 0, 10, busy_ns=4, queue=1.0, samples=1), Load(1, 1, 10, 30, busy_ns=None)
    assert (pooled([first, second]).busy_ns, pooled([first, second]).queue) == (None, 1.0)
    with pytest.raises(ValueError, match="Nothing"):
        pooled([])


@pytest.mark.parametrize("wrong", [math.nan, math.inf, "1", True, [1]])
def test_a_series_holds_numbers_alone(wrong):
    value = Series(0, 0, ("queue",), ((0, None), (5, 1.5))).to_json()
    assert Series.from_json(value).rows == ((0, None), (5, 1.5))
    value["rows"][1][1] = wrong
    with pytest.raises(ValueError, match="row of a series"):
        Series.from_json(value)
