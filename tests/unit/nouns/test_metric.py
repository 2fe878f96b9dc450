"""Metrics as people write them, as they are stored, and as the agent is asked for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.errors import UsageError
from becalm.nouns.metric import Better, Metric, Response, Take, Tasks, Work, are_valid, metric, metrics, path, tasks
from becalm.nouns.workload import Workload


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Time: ([0-9.]+)", Metric("Time: ([0-9.]+)", "Time")),
        ("Time: ([0-9.]+),unit=s,take=first", Metric("Time: ([0-9.]+)", "Time", "s", take=Take.FIRST)),
        ("([0-9]+) requests,better=higher", Metric("([0-9]+) requests", "metric", better=Better.HIGHER)),
        (r"x{1,3} rate=\s*(\d+)", Metric(r"x{1,3} rate=\s*(\d+)", "x rate")),
        ("json:results.p99,unit=us", Metric("json:results.p99", "p99", "us")),
        ("json:$.a[0],name=first,better=lower", Metric("json:$.a[0]", "first")),
        ("json:[-1]", Metric("json:[-1]", "metric")),
        ("memory:peak", Metric("memory:peak", "peak memory", "bytes")),
        ("counter:instructions,name=work", Metric("counter:instructions", "work")),
        ("time:wall", Metric("time:wall", "wall time", "s")),
        ("time:user", Metric("time:user", "user time", "s")),
        ("switches:involuntary", Metric("switches:involuntary", "involuntary switches")),
        ("faults:major", Metric("faults:major", "major faults")),
    ],
)
def test_metrics_are_parsed_as_people_write_them(text, expected):
    assert metric(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Time: [0-9.]+", "no group around the number"),
        ("Time", "no group"),
        ("", "does not locate"),
        ("json:", "does not locate"),
        ("json:a..b", "not a path into JSON"),
        ("json:a[x]", "not a path into JSON"),
        ("(a),better=larger", "lower or higher, not 'larger'"),
        ("(a),take=middle", "the first match, the last or the sum of all"),
        ("json:a,take=first", "applies to patterns only"),
        ("(a),unit=s,unit=ms", "has unit= twice"),
        ("memory:heat", r"no metric 'memory:heat'.*memory:average, memory:peak, memory:growth"),
        ("counter:", "no metric 'counter:'.*counter:cycles"),
        ("energy:package,unit=Wh", "a unit of its own"),
        ("memory:peak,better=larger", "lower or higher"),
    ],
)
def test_invalid_metrics_are_refused(text, words):
    with pytest.raises(UsageError, match=words):
        metric(text)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("results.p99", ("results", "p99")),
        ("$.results.p99", ("results", "p99")),
        ("jobs[0].lat", ("jobs", 0, "lat")),
        ("[-1].x", (-1, "x")),
        ('lat["99.0"].us', ("lat", "99.0", "us")),
    ],
)
def test_a_path_into_json(text, steps):
    assert path(text) == steps


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(st.lists(names | st.integers(-99, 99), min_size=1, max_size=6))
def test_every_path_that_is_written_is_read(steps):
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    assert path(text) == tuple(steps)


@given(names, names, st.sampled_from([*Better]), st.sampled_from([*Take]))
def test_a_workload_keeps_its_metrics(name, unit, better, take):
    workload = Workload(argv=("x",), metrics=(Metric("a (b)", name, unit, better, take),), tasks=Tasks(8e5, "messages"))
    assert Workload.from_json(workload.to_json()) == workload


def test_the_agent_is_asked_for_no_more_than_where_the_number_is():
    response = Response.of({"metric": ["Time: ([0-9.]+),unit=s", "json:a[1].b"]})
    workload = Workload.of("x").measuring(response, Work.of({"tasks": 5}))
    assert workload.tasks == Tasks(5.0)
    assert workload.to_wire()["metrics"] == [{"pattern": "Time: ([0-9.]+)", "take": "last"}, {"json": ["a", 1, "b"]}]
    assert "metrics" not in Workload.of("x").to_wire(), "an agent of before is asked what it knows"
    assert workload.measuring(Response()) == workload


def test_two_metrics_have_two_names():
    with pytest.raises(UsageError, match="Two metrics are called 'p99'"):
        metrics(["json:a.p99", "json:b.p99"])
    assert [metric.name for metric in metrics(["json:a.p99", "json:b.p99,name=b"])] == ["p99", "b"]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (1000, Tasks(1000.0)),
        ("800000 messages", Tasks(8e5, "messages")),
        ("10.5 big tasks", Tasks(10.5, "big tasks")),
    ],
)
def test_tasks_as_people_write_them(given_, expected):
    assert tasks(given_) == expected


@pytest.mark.parametrize("bad", ["1,000 tasks", "1,5", "800 000 messages", "1_000", "1.234.567"])
def test_tasks_that_can_be_read_in_two_ways_are_refused(bad):
    with pytest.raises(UsageError, match=r"--tasks: .* can be read in two ways"):
        tasks(bad)


@pytest.mark.parametrize("bad", ["", "messages", "0", "-3", "nan", "inf x"])
def test_tasks_are_a_number_above_zero(bad):
    with pytest.raises(UsageError, match="number above zero"):
        tasks(bad)


def test_quantities_of_the_agent_are_requested_by_name():
    assert metric("memory:peak").to_wire() == {"quantity": "memory:peak"}
    assert metric("(a:)").quantity is None
    (read_metric,) = Workload.from_json(
        Workload.of("x").measuring(Response(metrics("counter:cycles"))).to_json()
    ).metrics
    assert read_metric == metric("counter:cycles")


def test_the_compared_value_is_above_zero_and_others_may_be_zero():
    assert are_valid([1.0, 0.0])
    assert not are_valid([0.0])
    assert not are_valid([1.0, -1.0])
    assert not are_valid([1.0, float("nan")])
