"""Old regions against new ones: what changed, what is not visible, limits."""

import math

import numpy as np
import pytest
from tests.unit.analysis.region_cases import LIMIT, kinds, lengths, normal
from tests.unit.files import region_files

from becalm.analysis.regions_comparison import compare
from becalm.analysis.regions_variation import trimmed
from becalm.results.compare import Gate
from becalm.results.regions import RegionAnswer, TimerLimit


def changed(old, new, timer=LIMIT, **more):
    files = [[lengths(series) for series in side] for side in (old, new)]
    return compare(*files, titles=(["old"] * len(old), ["new"] * len(new)), timer=timer, **more)


def test_a_slower_name_is_named_alongside_one_that_is_not():
    old = np.concatenate([normal(1), normal(2, name=1)])
    new = np.concatenate([normal(3, mean=2_100), normal(4, name=1)])
    slow, same = changed([old], [new]).differences
    assert slow.answer is RegionAnswer.SLOWER
    # Without the clock's 30 ns: 50 ns of 970.
    assert slow.low < 0.0515 < slow.high
    assert same.answer is RegionAnswer.NO_DIFFERENCE_DETECTED
    assert "parse is 5" in changed([old], [new]).sentence
    assert "region_one_file" in kinds(changed([old], [new]))
    assert "region_one_file" not in kinds(changed([old, old], [new, new]))


def test_a_difference_below_the_timers_limit_is_not_visible():
    comparison = changed([normal(1)], [normal(2, mean=2_002)])
    assert comparison.differences[0].answer is RegionAnswer.NOT_VISIBLE
    assert "not visible. Time 2 calls as one region." in comparison.sentence
    assert changed([normal(1)], [normal(2, mean=2_002)], None).differences[0].answer is RegionAnswer.SLOWER


def test_identical_programs_of_many_names_are_seldom_called_different():
    wrong = 0
    for seed in range(40):
        sides = [[np.concatenate([normal([seed, side, name], 400, name=name) for name in range(6)])] for side in (0, 1)]
        answers = [difference.answer for difference in changed(*sides, None).differences]
        wrong += any(answer is not RegionAnswer.NO_DIFFERENCE_DETECTED for answer in answers)
    # 2 expected; more than 6 would come about once in 200 such tests.
    assert wrong <= 6


def test_files_are_what_counts_where_there_are_several():
    """Five processes a side, each with its own level: many regions say nothing of that."""
    rng = np.random.default_rng(5)
    files = [normal(seed, mean=2_000 * (1 + 0.03 * rng.standard_normal())) for seed in range(10)]
    (difference,) = changed(files[:5], files[5:]).differences
    assert difference.units == (5, 5)
    assert difference.high - difference.low > 0.03
    assert difference.answer is RegionAnswer.NO_DIFFERENCE_DETECTED


@pytest.mark.parametrize(
    ("mean", "limit", "gate", "code"),
    [
        (2_000, 0.02, Gate.WITHIN, 0),
        (2_200, 0.02, Gate.ABOVE, 1),
        (2_039, 0.02, Gate.UNDECIDED, 5),
        # A twentieth of the clock's cost is 0.15 %: the timer cannot show what the limit asks for.
        (2_000, 0.001, Gate.UNDECIDED, 5),
    ],
)
def test_a_limit_has_three_outcomes(mean, limit, gate, code):
    comparison = changed([normal(1)], [normal(2, mean=mean)], fail_above=limit)
    assert (comparison.gate, comparison.exit_code) == (gate, code)


def test_an_undecided_limit_may_pass():
    assert changed([normal(1)], [normal(2, mean=2_039)], fail_above=0.02, undecided="pass").exit_code == 0


def test_nothing_in_common_and_too_few_are_reported():
    comparison = changed([normal(1)], [normal(2, name=1)], fail_above=0.1)
    assert comparison.differences == ()
    assert "nothing to compare" in comparison.sentence
    assert comparison.gate is Gate.UNDECIDED
    assert kinds(comparison)[:2] == ["region_one_side", "region_one_side"]
    (few,) = changed([normal(1, 9)], [normal(2, 9)]).differences
    assert few.answer is RegionAnswer.UNKNOWN


def test_other_machines_are_reported():
    files = [[lengths(normal(side), machine=f"{side}" * 16, hz=hz)] for side, hz in ((1, 2e9), (2, 4e9))]
    comparison = compare(*files, titles=(["a"], ["b"]), timer=None)
    assert "region_machines" in kinds(comparison)
    # 2,000 ticks of 4 GHz are half as long.
    assert comparison.differences[0].estimate == pytest.approx(-0.5, abs=0.01)


def test_a_typical_length_is_the_mean_without_the_longest_twentieth():
    assert trimmed(np.array([*range(19), 10_000.0])) == 9.0
    assert trimmed(np.array([7.0])) == 7.0


def processes(seed, many, spread):
    """Return files of one name, each with its own level."""
    rng = np.random.default_rng(seed)
    return [normal([seed, number], mean=2_000 * math.exp(spread * rng.standard_normal())) for number in range(many)]


@pytest.mark.parametrize("many", [2, 3, 4])
def test_few_files_say_how_many_would_do(many):
    comparison = changed(processes(1, many, 0.03), processes(2, many, 0.03))
    wanted = comparison.files_wanted
    (difference,) = comparison.differences
    assert wanted.name == "parse"
    assert wanted.half == pytest.approx(math.sqrt((1 + difference.high) / (1 + difference.low)) - 1)
    assert wanted.half > wanted.precision
    assert wanted.files >= 5
    assert f"{many} files a side are few" in comparison.sentence
    assert f"About {wanted.files} files (processes) a side" in comparison.sentence


def test_as_many_files_as_are_wanted_are_enough():
    """The number that is said makes the interval about as narrow as was said, whatever files are drawn."""
    reached = 0
    for seed in range(20):
        wanted = changed(processes([seed, 1], 4, 0.02), processes([seed, 2], 4, 0.02)).files_wanted
        again = changed(*(processes([seed, side], wanted.files, 0.02) for side in (3, 4)))
        assert again.files_wanted is None
        half = math.sqrt((1 + again.differences[0].high) / (1 + again.differences[0].low)) - 1
        reached += half < 2 * wanted.precision
    assert reached >= 15


def test_nothing_is_wanted_where_files_are_many_or_agree():
    assert changed(processes(1, 5, 0.1), processes(2, 5, 0.1)).files_wanted is None
    assert changed([normal(1)] * 2, [normal(2)] * 2).files_wanted is None
    # One file a side: pieces are compared, and that is said.
    assert changed([normal(1)], [normal(2)]).files_wanted is None


def test_a_limit_says_what_precision_is_wanted():
    comparison = changed(processes(1, 3, 0.1), processes(2, 3, 0.1), fail_above=0.05)
    assert comparison.files_wanted.precision == 0.025


# --- means and the clock ----------------------------------------------------------------------------------------------


def test_a_change_of_a_short_region_is_its_share_of_the_work():
    """A fifth more of 36 ns, read by a clock that costs 20 ns and steps by 10: a mean of many shows it."""

    def read(seed, ns):
        rng = np.random.default_rng(seed)
        ticks = (np.floor((ns + 20.0 + 10.0 * rng.random(4_000)) / 10.0) * 26).astype(int)
        return lengths(region_files.regions(ticks), hz=2.6e9, quantum=26.0, mean_cost=52_000)

    files = [[read([side, seed], 36.0 + 7.2 * side) for seed in range(5)] for side in (0, 1)]
    comparison = compare(*files, titles=("12345", "12345"), timer=TimerLimit(18.0, "kept", 500.0), fail_above=0.05)
    (difference,) = comparison.differences
    assert difference.answer is RegionAnswer.SLOWER
    assert difference.low < 0.2 < difference.high
    assert difference.high - difference.low < 0.05
    assert comparison.exit_code == 1
    again = compare(files[0], files[0], titles=("12345", "12345"), timer=TimerLimit(18.0, "kept"), fail_above=0.05)
    assert again.exit_code == 0


def test_a_mean_of_readings_that_are_all_alike_hides_a_step():
    def read(ticks):
        return lengths(region_files.regions(np.full(2_000, ticks)), hz=2.6e9, quantum=26.0, mean_cost=52_000)

    sides = [[read(156), read(156)], [read(182), read(182)]]
    (difference,) = compare(*sides, titles=("ab", "ab"), timer=TimerLimit(18.0, "kept")).differences
    assert difference.visible_from_ns == pytest.approx(10.0)
    few = [[read(156), read(156)], [read(158), read(158)]]
    difference = compare(*few, titles=("ab", "ab"), timer=TimerLimit(18.0, "kept"))
    assert difference.differences[0].answer is RegionAnswer.NOT_VISIBLE
    assert "Time 13 calls as one region." in difference.sentence


def test_a_faster_region_is_within_any_limit():
    # The timer cannot show 0.1 %, and need not: it is faster by more than it can show.
    comparison = changed([normal(1)], [normal(2, mean=1_800)], fail_above=0.001)
    assert (comparison.differences[0].answer, comparison.gate) == (RegionAnswer.FASTER, Gate.WITHIN)
    assert comparison.differences[0].calls is None
