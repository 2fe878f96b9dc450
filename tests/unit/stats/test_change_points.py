"""Steps in series of sessions: found where they are, not where there are none, and nothing later has a say."""

import math

import numpy as np
import pytest
from tests.samples import samples

from becalm.stats.change_points import change_points
from becalm.stats.common_mode import weighted_median
from becalm.stats.moderation import Prior, moderate, prior_of, winsorised_variance
from becalm.stats.step_places import interval_of_step
from becalm.stats.step_scan import LOOKS, REACHES, Scan, SuitePeers


def noise(rows=85, columns=8, sd=0.004, seed=1):
    return sd * np.random.default_rng(seed).standard_normal((rows, columns))


def steps_in(values, **options):
    return [(change.series, change.at, change.detected_at) for change in change_points(values, **options).changes]


def test_a_step_of_two_percent_is_found_with_the_third_session_and_nothing_else_is():
    y = noise()
    y[70:, 3] += math.log(1.02)
    (change,) = change_points(y).changes
    assert (change.series, change.at, change.detected_at) == (3, 70, 72)
    assert change.low < math.log(1.02) < change.high
    assert change.high - change.low < 0.02
    assert 0 < change.chance < 5e-4


def test_both_directions_and_one_series_alone():
    y = noise(rows=120, columns=1)[:, 0]
    y[60:] -= 0.03
    y[90:] += 0.05
    assert [(at, round(size, 2)) for at, size in _steps(y)] == [(60, -0.03), (90, 0.05)]


def _steps(y):
    return [(change.at, change.size) for change in change_points(y).changes]


def test_later_sessions_do_not_change_earlier_findings():
    """A history grows: what was said of it with fewer sessions is said of the longer one, too."""
    y = noise(rows=95, seed=3)
    y[50:, 1] += 0.03
    y[80:, 7] -= 0.03
    whole = steps_in(y)
    assert len(whole) == 2
    for rows in (52, 53, 83):
        assert steps_in(y[:rows]) == [change for change in whole if change[2] < rows]


def test_single_bad_sessions_and_pairs_of_them_are_no_change():
    y = noise(rows=105, seed=5)
    y[60, 2] += 0.5
    y[80:82, 4] += 0.5
    y[100, :] += 0.2
    assert steps_in(y) == []


@pytest.mark.parametrize("place", range(3))
def test_two_small_deviations_and_a_bad_session_are_no_change(place):
    """Their mean is that of a step that would be named; one of that size without a stray value is."""
    y, stepped = noise(rows=70, seed=13), noise(rows=70, seed=13)
    level = y[45:60, 2].mean()
    y[60:63, 2] = level + 0.010
    y[60 + place, 2] = level + 0.028
    assert steps_in(y) == []
    stepped[60:63, 2] = level + 0.016
    stepped[63:, 2] += 0.016
    assert steps_in(stepped) == [(2, 60, 62)]


def test_a_common_change_is_attributed_to_the_machine():
    """A machine that drifts by ten times the noise, and then becomes slower at once: no benchmark is accused."""
    rng = np.random.default_rng(6)
    y = noise(seed=6)
    y += np.cumsum(0.004 * rng.standard_normal(len(y)))[:, None] * rng.uniform(0.7, 1.3, 8)
    y[70:, 3] += 0.03
    assert steps_in(y) == [(3, 70, 72)]
    y = noise(rows=75, seed=7)
    y[70:] += 0.05
    assert steps_in(y) == [(-1, 70, 72)]


def test_a_benchmark_that_answers_less_is_not_accused_when_the_machine_moves_further_than_ever():
    """The size of its answer was never seen before: 0.7 of 10 % would look like a step of 3 % of its own."""
    for seed in range(samples(2, 20)):
        y = noise(rows=78, seed=20 + seed)
        y[70:] += 0.10 * np.linspace(0.85, 1.15, 8)
        assert {series for series, *_ in steps_in(y)} == {-1}


def test_with_a_stray_session_in_four_of_a_noisy_machine_two_percent_are_seen():
    """The usual sessions are enough: a bad one among those after the step takes nothing from it."""
    y = noise(sd=0.003, seed=14)
    y[60:, 2] += 0.02
    y[61, 2] += 0.03
    assert steps_in(y) == [(2, 60, 62)] or steps_in(y) == [(2, 60, 63)]


def test_a_step_lies_between_commits_never_between_sessions_of_one():
    y = noise(columns=1, seed=8)[:, 0]
    commits = np.arange(len(y)) // 3
    y[60:] += 0.05
    (change,) = change_points(y, commits).changes
    assert change.at == 60


@pytest.mark.parametrize("columns", [1, 3, 8])
@pytest.mark.parametrize("at", [10, 18, 25])
def test_a_step_among_the_first_sessions_is_found_once_the_noise_is_known_without_it(at, columns):
    y = noise(rows=60, columns=columns, sd=0.003, seed=at)
    y[at:, 0] += 0.05
    (change,) = change_points(y).changes
    assert (change.series, change.at) == (0, at)
    assert change.detected_at < 44
    assert change.size == pytest.approx(0.05, abs=0.005)


def test_a_young_series_that_drifts_seldom_shows_a_step():
    trials = samples(8, 100)
    steps = 0
    for seed in range(trials):
        y = noise(rows=60, columns=1, seed=seed) + np.cumsum(noise(rows=60, columns=1, seed=100 + seed), axis=0)
        steps += len(steps_in(y))
    # One in fifty: 60 commits at the rate that is aimed at are 3 %.
    assert steps <= trials // 50


def test_a_step_that_is_said_to_be_visible_is_seen_and_a_third_of_it_is_not():
    y = noise(rows=100, columns=3, seed=4)
    visible = change_points(y[:80]).visible
    assert ((visible > 0.003) & (visible < 0.02)).all()
    for share, seen in ((1.5, True), (0.3, False)):
        stepped = y.copy()
        stepped[80:, 1] += share * visible[1]
        assert ([change[:1] for change in steps_in(stepped)] == [(1,)]) is seen
    assert np.isnan(change_points(noise(rows=8)).visible).all()


def test_missing_sessions_are_left_out():
    y = noise(seed=9)
    y[70:, 3] += 0.04
    y[::4, 3] = np.nan
    y[:, 5] = np.nan
    result = change_points(y)
    assert [(change.series, change.at) for change in result.changes] == [(3, 70)]
    assert math.isnan(result.noise[5])
    assert result.lacking[5] > 0
    assert result.lacking[0] == 0


def test_sessions_that_are_known_badly_need_more_to_be_believed():
    y = noise(rows=75, seed=10)
    errors = np.full_like(y, 0.001)
    y[70:, 3] += 0.02
    assert steps_in(y, errors=errors) == [(3, 70, 72)]
    errors[70:73, 3] = 0.05
    assert (3, 70, 72) not in steps_in(y, errors=errors)


@pytest.mark.parametrize("others", [0, 3])
def test_a_step_of_what_repeats_itself_to_the_digit_is_found_with_the_third_value(others):
    sizes = np.log(np.repeat([42.0, 50.0, 49.9], 20))
    result = change_points(np.column_stack([sizes, *[np.zeros(60)] * others]))
    assert [(change.series, change.at, change.detected_at) for change in result.changes] == [(0, 20, 22), (0, 40, 42)]
    assert 0 < result.visible[0] < 0.01


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_single_other_values_among_equal_ones_are_no_step(share):
    rng = np.random.default_rng(1)
    for _ in range(5):
        assert change_points(np.log(np.where(rng.random(200) < share, 43.0, 42.0))).changes == ()


def test_equal_values_and_too_few_of_them_say_nothing():
    assert steps_in(np.zeros((50, 9))) == []
    assert steps_in(noise(rows=8)) == []
    assert steps_in(np.zeros((0, 3))) == []
    assert (change_points(noise(rows=8)).lacking > 0).all()


def test_false_alarms_stay_below_their_rate():
    """At a rate of one in twenty, a false alarm in every twenty commits of a suite of twelve is allowed for."""
    rows = samples(120, 1000)
    assert len(steps_in(noise(rows=rows, columns=12), rate=0.05)) <= rows / 50


@pytest.mark.parametrize(
    ("values", "more", "message"),
    [
        ([[np.inf]], {}, "finite"),
        ([[0.0]], {"errors": [[-1.0]]}, "negative"),
        ([[0.0]], {"commits": [1, 2]}, "one commit for each row"),
        ([[0.0, 1.0]], {"errors": [[0.0]]}, "errors of the same shape"),
        ([[0.0]], {"rate": 0.0}, "level of error"),
    ],
)
def test_invalid_series_are_refused(values, more, message):
    with pytest.raises(ValueError, match=message):
        change_points(values, **more)


def test_variances_are_moderated_by_their_peers():
    rng = np.random.default_rng(11)
    degrees, truth = 6.0, 2.0
    alike = truth * rng.chisquare(degrees, 400) / degrees
    prior = prior_of(alike, [degrees] * 400)
    assert prior.value == pytest.approx(truth, rel=0.1)
    assert prior.freedom > 40
    # Smyth's model: variances scatter as s0^2 d0 / chi2(d0).
    unlike = alike * 8 / rng.chisquare(8, 400)
    assert prior_of(unlike, [degrees] * 400).freedom == pytest.approx(8, rel=0.5)
    assert prior_of(alike[:3], [degrees] * 3) == Prior()
    assert moderate(4.0, 6.0, Prior(1.0, 3.0)) == (3.0, 9.0)
    assert moderate(4.0, 6.0, Prior()) == (4.0, 6.0)


def test_the_variance_of_normal_values_is_kept_and_outliers_have_little_say():
    values = np.random.default_rng(12).standard_normal(20_000)
    assert winsorised_variance(values) == pytest.approx(1.0, abs=0.03)
    values[:200] = 100
    assert winsorised_variance(values) == pytest.approx(1.07, abs=0.05)


def test_the_median_weighs():
    assert weighted_median([(1.0, 1.0), (2.0, 1.0), (9.0, 1.0)]) == 2.0
    assert weighted_median([(1.0, 1.0), (2.0, 1.0), (9.0, 5.0)]) == 9.0
    assert weighted_median([(1.0, 0.0), (2.0, 0.0), (9.0, 0.0)]) == 2.0
    # One of nine does not decide alone, however little it scatters.
    assert weighted_median([*((float(i), 1.0) for i in range(8)), (9.0, 100.0)]) == 5.0


def test_bad_sessions_of_one_side_are_no_change_where_they_are_usual():
    """One in twelve is slower, by up to ten times the noise: three in a row come once a year and are no step."""
    rng = np.random.default_rng(15)
    y = noise(rows=165, columns=9, sd=0.003, seed=15)
    y += np.where(rng.random(y.shape) < 0.08, 0.003 * rng.exponential(6.0, y.shape), 0.0)
    y[150:153, 2] = y[100:150, 2].mean() + np.array([0.020, 0.023, 0.021])
    assert [change for change in steps_in(y, rate=1e-4) if change[0] == 2] == []
    # What lasts is one, and so is one to the other side, where none strays: that is seen at once.
    y[153:, 2] += 0.020
    assert [change[:2] for change in steps_in(y, rate=1e-4) if change[0] == 2] == [(2, 150)]
    y[150:, 4] -= 0.020
    assert (4, 150, 152) in steps_in(y, rate=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 8])
@pytest.mark.parametrize("at", [8, 12, 16])
def test_a_step_far_above_the_noise_is_seen_in_a_young_history(at, columns):
    """20 % where sessions scatter by 0.4 %: no drift is known of yet, and no drift does that."""
    y = noise(rows=at + 4, columns=columns, seed=at)
    y[at:, 0] += math.log(1.2)
    (change,) = change_points(y).changes
    assert (change.series, change.at) == (0, at)
    assert change.detected_at <= at + 3


@pytest.mark.parametrize("sd", [0.004, 1e-6])
def test_a_step_so_far_above_the_noise_that_its_chance_has_no_float_is_found(sd):
    """2.7 times as long where sessions scatter by 0.4 %, or by a millionth, as with counted instructions."""
    y = noise(rows=100, columns=2, sd=sd, seed=3)
    y[60:, 0] += 1.0
    assert steps_in(y) == [(0, 60, 62)]


def test_a_young_history_says_what_would_be_seen():
    y = noise(rows=12, columns=2, seed=16)
    result = change_points(y)
    assert (result.lacking == 0).all()
    assert ((result.visible > 0.01) & (result.visible < 0.3)).all()
    assert (change_points(y[:8]).lacking == 1).all()


def test_a_young_suite_is_not_accused_of_what_its_machine_does():
    """Nothing is known yet of how far each answers to it."""
    for seed in range(3):
        y = noise(rows=20, seed=30 + seed)
        y[12:] += 0.2 * np.linspace(0.7, 1.3, 8)
        assert {series for series, *_ in steps_in(y)} <= {-1}


def test_after_a_step_a_new_level_begins_and_what_was_before_has_no_say_in_it():
    y = noise(rows=100, columns=1, seed=3)[:, 0]
    y[60:] += 1.0
    scan = Scan(1)
    place = None
    for row, value in enumerate(y):
        scan.take(row, float(row), np.array([value]), np.zeros(1), 0.02)
        if place is None and (steps := scan.look(SuitePeers(), 1e-4)):
            place = steps[0].place
            after = row + 1 - place
            assert place == 60
            assert scan.values_needed()[0] == REACHES[0] + LOOKS[0] - after > 0
            assert scan.level()[0] == pytest.approx(1.0, abs=0.02)
    assert place is not None
    assert scan.values_needed()[0] == 0


def test_the_interval_of_a_step_is_about_students_where_nothing_drifts():
    """Student's interval of 20 values on both sides is 2.02 standard errors; drift that cannot be excluded makes it
    wider."""
    y = noise(rows=40, columns=1, sd=1.0, seed=5)[:, 0]
    size, low, high = interval_of_step(y[:20], y[20:] + 10.0, 1.0)
    assert size == pytest.approx(10.0 + y[20:].mean() - y[:20].mean(), abs=0.2)
    assert 2.02 * 0.9 * math.sqrt(2 / 20) < (high - low) / 2 < 3.0 * math.sqrt(2 / 20)


@pytest.mark.parametrize("stray", [0.1, 0.5, 5.0, -5.0])
@pytest.mark.parametrize("place", [9, 17, 22])
def test_one_stray_value_hardly_moves_the_interval_of_a_step(stray, place):
    y = noise(rows=40, columns=1, seed=6)[:, 0]
    y[20:] += 0.05
    whole = interval_of_step(y[:20], y[20:], 0.004)
    y[place] += stray
    assert interval_of_step(y[:20], y[20:], 0.004) == pytest.approx(whole, abs=0.004)


@pytest.mark.parametrize("columns", [1, 8])
@pytest.mark.parametrize(("stray", "before"), [(-0.5, 5), (-0.2, 3), (0.2, 10)])
def test_a_stray_value_near_a_step_of_a_young_series_names_no_wrong_commit(columns, stray, before):
    for seed in range(samples(3, 40)):
        y = noise(rows=40, columns=columns, sd=0.006, seed=seed)
        y[12:, 0] += math.log(0.88)
        y[12 - before, 0] += math.log1p(stray)
        assert [change[:2] for change in steps_in(y)] == [(0, 12)]


@pytest.mark.parametrize("columns", [1, 8])
def test_two_steps_six_sessions_apart_are_two(columns):
    for seed in range(samples(3, 40)):
        y = noise(rows=60, columns=columns, seed=seed)
        y[30:36, 0] += 0.05
        y[36:, 0] -= 0.05
        assert [change[:2] for change in steps_in(y)] == [(0, 30), (0, 36)]


def test_a_step_is_seen_in_a_suite_whose_every_commit_moves_a_little():
    """Each commit moves each benchmark by half of what its sessions scatter: no drift, and it hides no large step."""
    for seed in range(samples(2, 20)):
        y = noise(rows=80, columns=10, seed=seed) + np.cumsum(0.5 * noise(rows=80, columns=10, seed=seed + 100), axis=0)
        y[50:, 4] += 0.1
        assert any(series == 4 and abs(at - 50) <= 1 for series, at, _ in steps_in(y))


def test_a_session_in_which_all_stray_leaves_nothing_behind():
    """A benchmark that does not answer to the machine is corrected by mistake until that is known, and no longer."""
    y = noise(rows=70, columns=9, seed=17)
    for row in (8, 14, 21, 30):
        y[row, 1:] += 0.3
    y[:, 0] *= 0.1
    assert steps_in(y) == []


def test_a_long_flat_past_lets_a_small_step_be_seen():
    """The drift of a single benchmark is unknown, until 140 sessions have shown none."""
    y = noise(rows=180, columns=1, sd=1.0, seed=20)[:, 0]
    y[140:] += 2.8
    (change,) = change_points(y).changes
    assert abs(change.at - 140) <= 2


def test_a_series_that_moves_by_steps_shows_few_of_them():
    """A balance that is paid into each week: its fifth jump in forty days is no news."""
    y = noise(rows=300, columns=1, sd=0.01, seed=19)[:, 0]
    y += np.repeat(np.random.default_rng(19).standard_normal(50), 6)
    assert len(steps_in(y)) <= 6
