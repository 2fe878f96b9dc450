"""Findings on the regions of one file: variation above the timer's limit, outliers, and what does not count."""

import numpy as np
import pytest
from tests.unit.analysis.region_cases import LIMIT, kinds, lengths, normal, pieces, verdict_on
from tests.unit.files import region_files

from becalm.analysis.regions_lengths import gather
from becalm.analysis.regions_variation import report, trimmed
from becalm.files.region_codec import RECORD, Damage
from becalm.results.regions import TimerLimit


def test_a_typical_length_leaves_out_the_longest_twentieth():
    assert trimmed(np.arange(100.0)[::-1]) == np.arange(95.0).mean()
    assert trimmed(np.array([1.0, 1000.0])) == 500.5


def test_variation_is_named_above_the_timer_s_limit_alone():
    both = np.concatenate([normal(1, sd=200), normal(2, sd=1, name=1)])
    wide, narrow = verdict_on(both).regions
    # 2 GHz: 200 ticks are 100 ns, and nine in ten lie within 3.29 standard deviations.
    assert wide.spread_ns == pytest.approx(329, rel=0.05)
    assert (wide.varies, narrow.varies) == (True, False)
    assert "größe varies by no more than the timer can show" in verdict_on(both).sentence
    assert [region.varies for region in verdict_on(both, None).regions] == [None, None]
    assert "region_limit_unknown" in kinds(verdict_on(both, None))


def test_numbers_by_hand():
    region = verdict_on(region_files.regions(np.concatenate([np.repeat([1_000, 1_004], 50), [100_000]]))).regions[0]
    assert (region.regions, region.timed, region.min_ns, region.median_ns, region.max_ns) == (
        101,
        101,
        500,
        502,
        50_000,
    )
    assert (region.outliers, region.outlier_share) == (1, pytest.approx(50_000 / (50 * 1_002 + 50_000)))
    assert region.survival == ((500.0, 1.0), (502.0, 51 / 101), (50_000.0, 1 / 101))


def test_outliers_are_one_in_a_hundred_at_most():
    assert verdict_on(region_files.regions(np.repeat([1_000, 9_000], [900, 100]))).regions[0].outliers == 0
    assert verdict_on(region_files.regions(np.repeat([1_000, 9_000], [995, 5]))).regions[0].outliers == 5


def test_regions_that_do_not_count_are_left_out_and_reported():
    records = region_files.regions(np.concatenate([np.full(100, 30), np.full(50, 1_000)]))
    records["flags"][100:110] |= 1
    records["ticks"][110:113], records["flags"][110:113] = -5, 2
    verdict = verdict_on(records, damage=Damage(header=True, bytes=9, places=1, open=True, lost=512))
    (only,) = verdict.regions
    assert (only.regions, only.timed, only.migrated, only.out_of_step) == (150, 137, 10, 3)
    assert only.shorter_than_cost == 100
    assert {"region_short", "region_migrated", "region_backwards", "region_damage"} <= set(kinds(verdict))


def test_a_name_of_which_no_region_counts_is_named():
    records = region_files.regions(np.full(30, 900), name=1)
    records["flags"] = 1
    verdict = verdict_on(np.concatenate([region_files.regions(np.full(30, 900)), records]))
    assert verdict.untimed == ("größe",)
    assert "größe cannot be evaluated" in verdict.sentence


def test_full_rings_are_counted_by_what_they_kept():
    gathered = gather(
        [
            region_files.header(),
            region_files.block(normal(1, 100), dropped=7),
            region_files.block([], 100, dropped=5, keeps_last=True),
        ]
    )
    assert gathered.dropped == {False: 7, True: 5}
    assert kinds(report(gathered, study=1, title="x", timer=LIMIT)) == ["region_dropped", "region_dropped"]


def test_memory_is_bounded_and_names_that_alternate_are_thinned_alike():
    records = region_files.regions(np.tile([1_000, 3_000], 20_000))
    records["name"] = np.tile([0, 1], 20_000)
    gathered = gather(pieces(records), most=6_000)
    assert gathered.recorded == 40_000
    assert 2_500 < gathered.read <= 6_000
    shares = [len(mine) / gathered.read for _, mine in gathered.by_name()]
    assert shares == pytest.approx([0.5, 0.5], abs=0.05)
    assert "region_thinned" in kinds(report(gathered, study=1, title="x", timer=LIMIT))


@pytest.mark.parametrize(
    ("flags", "kind", "words"),
    [
        (6, None, ""),
        (2, None, ""),
        (4, "region_rate", "a hypervisor may hide that"),
        (0, "region_rate", "runs at one rate:"),
        (14, "region_clock", "emulates each read"),
        (1, "region_clock", "own counter could not be used"),
    ],
)
def test_flags_of_the_clock_are_reported(flags, kind, words):
    verdict = report(lengths(normal(1), flags=flags), study=1, title="x", timer=LIMIT)
    assert kinds(verdict) == ([] if kind is None else [kind])
    assert words in " ".join(finding.sentence for finding in verdict.findings)


def test_a_clock_that_was_set_meanwhile_is_reported():
    steady = region_files.closing(1, 10, ticks=1_000_000 + 4_000_000_000, unix_ns=1_700_000_002_000_000_000)
    moved = region_files.closing(1, 10, ticks=1_000_000 + 4_000_000_000, unix_ns=1_700_000_902_000_000_000)
    for end, stepped in ((steady, False), (moved, True)):
        gathered = gather([region_files.header(), region_files.block(normal(1, 10)), end])
        assert gathered.stepped is stepped
        # Ticks count from the header: half a million of them at 2 GHz.
        at = gathered.unix_ns(np.array([(2_000_000, 0, 0, 0, 0, 0)], RECORD))
        assert at.tolist() == [1_700_000_000_000_500_000]


# --- a clock with steps -----------------------------------------------------------------------------------------------


def stepped(counts, **changed):
    """Return regions of a clock of 2.6 GHz that steps by 10 ns, as often as given for each length in ns."""
    ticks = np.repeat([round(ns * 2.6) for ns in counts], list(counts.values()))
    np.random.default_rng(1).shuffle(ticks)
    return lengths(region_files.regions(ticks), hz=2.6e9, quantum=26.0, **changed)


CHAIN = {741: 1_679, 751: 12_712, 761: 15_371, 771: 8_928, 781: 1_251}
"""A chain of 3,000 additions that never varies, as such a clock reads it."""


def test_bins_are_whole_steps():
    (region,) = report(stepped(CHAIN), study=1, title="x", timer=None).regions
    assert region.histogram.counts == tuple(CHAIN.values())[: len(region.histogram.counts)]
    assert (region.histogram.high - region.histogram.low) / len(region.histogram.counts) == pytest.approx(10.0)
    assert sum(region.histogram.counts) + region.histogram.above == sum(CHAIN.values())


def test_constant_work_does_not_vary_by_two_steps():
    timer = TimerLimit(18.0, "given", 500.0)
    (region,) = report(stepped(CHAIN), study=1, title="x", timer=timer).regions
    assert (region.spread_ns, region.varies) == (pytest.approx(20.0, abs=0.5), False)
    far = {**CHAIN, 811: 4_000}
    (region,) = report(stepped(far), study=1, title="x", timer=timer).regions
    assert region.varies is True


def test_a_second_mode_is_named():
    second = CHAIN | {831: 1_500, 841: 2_000, 851: 1_000}
    verdict = report(stepped(second), study=1, title="x", timer=TimerLimit(18.0, "given", 500.0))
    first, other = verdict.regions[0].modes
    assert (round(first[0]), round(other[0])) == (761, 841)
    assert other[1] == pytest.approx(4_500 / sum(second.values()), abs=0.02)
    assert "2 modes: 761 ns (90 %) and 841 ns (10 %)" in verdict.sentence
    assert report(stepped(CHAIN), study=1, title="x", timer=None).regions[0].modes == ()


def test_noise_has_one_mode():
    for seed in range(20):
        assert verdict_on(normal(seed)).regions[0].modes == ()
        skewed = np.random.default_rng(seed).lognormal(7, 0.3, 2_000).astype(int)
        assert verdict_on(region_files.regions(skewed)).regions[0].modes == ()


# --- the clock's cost -------------------------------------------------------------------------------------------------


def test_net_times_are_without_the_clock_s_cost():
    both = np.concatenate([region_files.regions(np.full(200, 1_000)), region_files.regions(np.full(200, 260), name=1)])
    verdict = report(lengths(both, mean_cost=40_000), study=1, title="x", timer=None)
    # 2 GHz: a mean cost of 40 ticks is 20 ns. Without one the median counts.
    assert [region.net_ns for region in verdict.regions] == [480.0, 110.0]
    assert [region.net_share for region in verdict.regions] == [pytest.approx(48 / 59), pytest.approx(11 / 59)]
    assert [region.net_ns for region in verdict_on(both).regions] == [470.0, 100.0]


def test_regions_below_t_min_are_flagged_with_the_calls_to_time_together():
    both = np.concatenate([region_files.regions(np.full(200, 2_000)), region_files.regions(np.full(200, 160), name=1)])
    verdict = verdict_on(both, TimerLimit(5.0, "kept", 510.0))
    assert [region.calls for region in verdict.regions] == [None, 11]
    assert kinds(verdict) == ["region_below"]
    assert verdict.findings[0].numbers == {"names": ["größe"], "calls": [11], "t_min_ns": 510.0}


def test_a_clock_with_steps_flags_regions_below_fifty_of_them():
    short = report(stepped({31: 100, 41: 300}, mean_cost=52_000), study=1, title="x", timer=None)
    # 20 ns of the clock: 18.5 ns of 500.
    assert short.regions[0].calls == 27
    assert short.findings[-1].numbers["t_min_ns"] == pytest.approx(500.0)
