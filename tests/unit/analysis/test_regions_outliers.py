"""Companions of outliers of regions are named, by the ticks of a record of load, and nothing else."""

import numpy as np
from tests.rates import at_most
from tests.samples import samples
from tests.unit.analysis.region_cases import LIMIT, lengths
from tests.unit.files import region_files

from becalm.analysis import regions_outliers
from becalm.analysis.regions_variation import report
from becalm.load.record import Load, Series

BEGIN = 1_700_000_000_000_000_000


def timeline(seed, outlying):
    """Return regions of 1 µs each ms for 20 s, of which those in outlying ticks of 100 ms are often long; and the
    ticks."""
    rng = np.random.default_rng(seed)
    bad = rng.random(200) < 0.06
    long = rng.random(20_000) < np.where(np.repeat(bad, 100), 0.05 if outlying else 0.003, 0.0 if outlying else 0.003)
    records = region_files.regions(np.where(long, 60_000, 2_000) + rng.integers(0, 20, 20_000), gap=2_000_000)
    return records, bad, rng


def loads(bad, rng):
    return [
        Load(
            tick, tick, BEGIN + tick * 100_000_000, 100_000_000, steal_ns=int(20e6 if number else 1e5 * rng.random()),
            interrupts=int(rng.integers(90, 110)), switches=int(rng.integers(900, 1_100)), major_faults=0,
            irq_ns=int(1e6 * rng.random()),
        )
        for tick, number in enumerate(bad)
    ]  # fmt: skip


def test_a_cause_that_coincides_with_outliers_is_named():
    records, bad, rng = timeline(1, True)
    read = lengths(records)
    verdict = report(read, study=1, title="x", timer=LIMIT)
    ticks = regions_outliers.ticks(loads(bad, rng), [], {})
    (cause,) = regions_outliers.causes(verdict, read, ticks, 7)
    assert (cause.kind, cause.program, cause.numbers["columns"]) == ("region_cause", "parse", ["steal_ns"])
    assert "the hypervisor took CPU time (steal)" in cause.sentence


def test_a_cause_without_effect_is_named_at_the_stated_rate_at_most():
    wrong, trials = 0, samples(30, 500)
    for seed in range(trials):
        records, bad, rng = timeline(seed, False)
        read = lengths(records)
        verdict = report(read, study=1, title="x", timer=LIMIT)
        ticks = regions_outliers.ticks(loads(bad, rng), [], {})
        wrong += any(cause.kind == "region_cause" for cause in regions_outliers.causes(verdict, read, ticks, 7))
    assert wrong <= at_most(trials, 0.05, 0.01)


def test_a_series_is_finer_than_its_loads_and_rows_are_differences():
    rows = ((0, None, 3.0), (100_000_000, 50_000_000, 4.0), (300_000_000, 10_000_000, 5.0))
    ticks = regions_outliers.ticks([], [Series(4, 4, ("steal_ns", "queue"), rows)], {4: BEGIN})
    assert ticks.begin.tolist() == [BEGIN, BEGIN + 100_000_000]
    assert ticks.end.tolist() == [BEGIN + 100_000_000, BEGIN + 300_000_000]
    assert ticks.rates["steal_ns"].tolist() == [5e8, 5e7]
    assert ticks.rates["queue"].tolist() == [4.0, 5.0]
    assert np.isnan(ticks.rates["irq_ns"]).all()
    # A tick is from its beginning to before its end.
    times = np.array([BEGIN - 1, BEGIN, BEGIN + 99_999_999, BEGIN + 100_000_000, BEGIN + 300_000_000])
    assert ticks.of(times).tolist() == [-1, 0, 0, 1, -1]


def test_a_record_of_another_time_is_told_apart_from_one_that_shows_nothing():
    records, bad, rng = timeline(3, True)
    read = lengths(records)
    verdict = report(read, study=1, title="x", timer=LIMIT)
    apart = [load._replace(started_ns=load.started_ns - 10**15) for load in loads(bad, rng)]
    (cause,) = regions_outliers.causes(verdict, read, regions_outliers.ticks(apart, [], {}), 7)
    assert (cause.kind, cause.numbers["why"]) == ("region_no_cause", "apart")
    (cause,) = regions_outliers.causes(verdict, read, regions_outliers.ticks(loads(bad, rng)[:30], [], {}), 7)
    assert cause.numbers["why"] == "few"
    (cause,) = regions_outliers.causes(verdict, read, regions_outliers.ticks([], [], {}), 7)
    assert cause.numbers["why"] == "apart"
