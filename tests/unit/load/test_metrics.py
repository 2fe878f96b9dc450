"""The measures that people look at, of one interval."""

import pytest

from becalm.load.metrics import MEASURES, find, total_ns
from becalm.load.record import LOAD_COLUMNS, Load
from becalm.nouns.tables import load_columns

SECOND = 1_000_000_000

LOAD = Load(
    first=0, last=0, started_ns=0, interval_ns=SECOND, cpus=2, busy_ns=900_000_000, idle_ns=700_000_000, irq_ns=0,
    softirq_ns=100_000_000, steal_ns=300_000_000, swap_out_bytes=4 * 4096, frequency_khz=2_500_000,
    pressure_cpu_ns=250_000_000,
)  # fmt: skip


def test_measures_of_an_interval():
    values = {measure.name: measure.of(LOAD) for measure in MEASURES}
    assert values["cpu"] == pytest.approx(100 / 200)
    assert values["steal"] == pytest.approx(30 / 200)
    assert values["interrupts"] == pytest.approx(10 / 200)
    assert values["pressure_cpu"] == pytest.approx(0.25)
    assert values["page_out"] == pytest.approx(4 * 4096)
    assert values["frequency"] == pytest.approx(2.5e9)
    assert values["nfs"] is None


def test_a_share_of_the_cpus_needs_all_that_they_did():
    changed = LOAD._replace(steal_ns=None)
    assert total_ns(changed) is None
    assert find("cpu").of(changed) is None


def test_nothing_known_is_nothing_said():
    empty = Load(0, 0, 0, SECOND)
    assert {measure.of(empty) for measure in MEASURES} == {None}


def test_names_of_measures_are_distinct():
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)
    with pytest.raises(KeyError):
        find("no such")


def test_the_source_of_a_measure_is_that_of_its_columns():
    """A measure is known exactly where some columns are: those are of its source."""
    of_source = {column.name: column.source for column in load_columns() if not column.always}
    whole = Load(*("leader" if name == "scope" else 1 for name in LOAD_COLUMNS))
    for measure in MEASURES:
        needed = [name for name in of_source if measure.of(whole._replace(**{name: None})) is None]
        assert {of_source[name] for name in needed} <= {measure.source}, measure.name
        assert needed, measure.name


def test_nobody_waits_for_more_than_all_of_an_interval():
    """The sum is read a moment after the clock: 100.3 % was seen."""
    load = Load(0, 0, 0, 10**9, pressure_cpu_ns=1_003_000_000)
    waited = {measure.name: measure.of(load) for measure in MEASURES}
    assert waited["pressure_cpu"] == 1
