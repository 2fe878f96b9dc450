"""Memory over the time of one run, among what was recorded."""

import numpy as np

from becalm.analysis.run_memory import RESIDENT, memory_course
from becalm.load.record import Series

ROWS = ((10, 4096), (20, 8192))


def test_the_first_counted_run_that_has_samples_is_drawn():
    others = Series(1, 1, ("queue",), ((0, 3),))
    recorded = [others, Series(4, 4, (RESIDENT,), ((5, 1),)), Series(5, 5, (RESIDENT,), ROWS)]
    assert memory_course(recorded, np.array([1, 5, 6])) == ((10.0, 4096.0), (20.0, 8192.0))
    assert memory_course(recorded, np.array([1, 2])) == ()


def test_a_series_with_its_cost_is_read_back():
    series = Series(5, 5, (RESIDENT,), ROWS, cost_ns=7)
    assert Series.from_json(series.to_json()) == series
    assert "cost_ns" not in Series(5, 5, (RESIDENT,), ROWS).to_json()
