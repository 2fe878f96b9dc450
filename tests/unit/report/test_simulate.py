"""The report of a simulation: page, curve of waits, timeline."""

from becalm.report.simulate_figures import COLORS, colored, curve, kind, pieces
from becalm.results.simulate import Latency, Turns


def latency(*buckets):
    count = sum(number for _, number in buckets)
    return Latency(count, 1.0, 1, 1, 1, 1, max((upper for upper, _ in buckets), default=0), buckets)


def test_the_curve_of_waits_is_the_share_that_is_longer():
    """A bucket holds times up to its end: beyond that they are not counted any more, and none is beyond the last."""
    assert latency((10, 1), (20, 3)).survival == ((0, 1.0), (10, 0.75), (20, 0.0))
    assert latency().survival == ()
    assert latency((0, 4)).survival == ((0, 1.0), (0, 0.0)), "who never waited is not longer than nothing"
    assert curve(latency((0, 1), (10, 1), (20, 2)), 5) == [(5, 0.75), (10, 0.5), (20, 0.0)]
    assert curve(latency((10, 1), (20, 3)), 10) == [(10, 0.75), (20, 0.0)]


def test_pieces_belong_to_whom_ran_longest():
    spans = [(0, 0, 0, 60), (0, 1, 60, 100), (0, 1, 100, 290), (1, 0, 10, 20)]
    assert pieces(spans, 300, 3) == [(0, 0, 0, 100), (0, 1, 100, 300)], "CPU 1 was idle for more than half"
    assert pieces([(0, 2, 0, 7)], 7, 300) == [(0, 2, 0, 7)]


def test_kinds_have_colours_by_the_time_that_they_ran():
    names = ("client 3", "receiver 0.7", "gzip, thread 2", "12", "a", "b")
    assert [kind(name) for name in names] == ["client", "receiver", "gzip", "12", "a", "b"]
    colours = colored(Turns(names, tuple((0, task, 0, task + 1) for task in range(6)), 0))
    assert list(colours) == ["b", "a", "12", "gzip", "receiver", "client"]
    assert len(set(colours.values())) == len(COLORS) + 1
