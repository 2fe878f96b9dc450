"""Lines through a space: the published ones by their numbers, and what is no line here."""

import pytest

from becalm.errors import UsageError
from becalm.methods.paths import CFS, TABLE, resolve
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

LATENCY = Factor("sched_latency_ns", 1e5, 1e9, "ns", Scale.LOG, whole=True)
SHORTEST = Factor("sched_min_granularity_ns", 1e5, 1e9, "ns", Scale.LOG, whole=True)
WAKING = Factor("sched_wakeup_granularity_ns", 0.0, 1e9, "ns", whole=True)
SLICE = Factor("slice_ns", 1e5, 1e8, "ns", Scale.LOG, whole=True)
POLICY = Factor("policy", choices=("other", "batch"))
CLASSIC = Space((), factors=(LATENCY, SHORTEST, WAKING))


def at(name, value, space=CLASSIC):
    path = resolve(name, space)
    return tuple(dict(path.settings(space, path.variable.coded(value)).values).get(knob) for knob in CFS)


@pytest.mark.parametrize(
    ("period", "latency", "shortest", "waking"),
    [
        # Algorithm 5.2 for 200 tasks: MinGran = SchedPeriod / 200, and beyond 2e11 the rest is WakeupGran.
        (2e7, 19_900_000, 100_000, 0),
        (4e9, 19_900_000, 20_000_000, 0),
        (2e11, 19_900_000, 1_000_000_000, 0),
        (2.004e11, 19_900_000, 1_000_000_000, 400_000_000),
    ],
)
def test_the_published_path_of_many_tasks(period, latency, shortest, waking):
    assert at("many-tasks", period) == (latency, shortest, waking)


@pytest.mark.parametrize(
    ("period", "latency", "shortest", "waking"),
    [
        # Algorithm 5.3: Latency = SchedPeriod up to 1e9; MinGran = SchedPeriod / 200 below 2e7, which is below what the
        # kernel takes and so its lowest, else 100,000.
        (1e7, 10_000_000, 100_000, 0),
        (2e7, 20_000_000, 100_000, 0),
        (1e9, 1_000_000_000, 100_000, 0),
        (1.4e9, 1_000_000_000, 100_000, 400_000_000),
    ],
)
def test_the_published_path_of_few_tasks(period, latency, shortest, waking):
    assert at("few-tasks", period) == (latency, shortest, waking)


def test_ends_of_the_published_paths():
    many, few = resolve("many-tasks", CLASSIC).variable, resolve("few-tasks", CLASSIC).variable
    assert (many.low, many.high, many.scale) == (2e7, 2.01e11, Scale.LINEAR)
    assert (few.low, few.high, few.scale) == (1e5, 2e9, Scale.LINEAR)


def test_the_number_of_tasks_and_the_scale_can_be_given():
    assert at("many-tasks:800", 8e9) == (79_900_000, 10_000_000, 0)
    assert resolve("few-tasks:log", CLASSIC).variable.scale is Scale.LOG
    assert resolve("many-tasks:40:log", CLASSIC).variable.low == 4e6
    with pytest.raises(UsageError, match="does not depend on the number of tasks"):
        resolve("diagonal:3", CLASSIC)
    with pytest.raises(UsageError, match=":log or :linear, not by :fast"):
        resolve("many-tasks:fast", CLASSIC)


def test_the_slice_is_that_of_the_program_where_there_is_one():
    whole = Factor("sched_base_slice_ns", 1e5, 1e9, "ns", Scale.LINEAR, whole=True)
    path = resolve("slice", Space((), factors=(whole, SLICE)))
    assert (path.name, path.variable.scale) == ("slice_ns", Scale.LOG)
    path = resolve("slice", Space((), factors=(whole,)))
    assert (path.name, path.variable.scale) == ("sched_base_slice_ns", Scale.LOG)


def test_a_factor_is_a_path_and_the_only_one_needs_no_name():
    space = Space((), factors=(SLICE,))
    for name in ("", "slice_ns"):
        path = resolve(name, space)
        assert dict(path.settings(space, 0.0).values) == {"slice_ns": 3_162_278}
        assert path.worded(0.0) == "slice_ns 3.16228 ms"


def test_the_diagonal_goes_from_all_lows_to_all_highs_and_leaves_choices_alone():
    space = Space((), factors=(SLICE, POLICY, WAKING))
    path = resolve("diagonal", space)
    assert dict(path.settings(space, -1.0).values) == {"slice_ns": 100_000, "sched_wakeup_granularity_ns": 0}
    assert dict(path.settings(space, 1.0).values)["slice_ns"] == 100_000_000


def test_an_impossible_line_is_refused_with_the_possible_ones():
    space = Space((), factors=(SLICE, POLICY))
    with pytest.raises(UsageError, match=r"many-tasks needs sched_latency_ns, .*There are: slice, diagonal, slice_ns"):
        resolve("many-tasks", space)
    with pytest.raises(UsageError, match=r"There is no path 'slices'\. Did you mean 'slice'\?"):
        resolve("slices", space)
    with pytest.raises(UsageError, match="policy is not a line: it has choices"):
        resolve("policy", space)
    with pytest.raises(UsageError, match="there are 2 factors"):
        resolve("", space)
    with pytest.raises(UsageError, match=r"--factor KNOB=LOW\.\.HIGH"):
        resolve("", Space((), factors=(POLICY,)))


def test_every_row_has_words():
    for row in TABLE:
        assert row.what
        assert row.needs
