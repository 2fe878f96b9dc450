"""When a study counts as having found the published settings, and what a log of halves comes to."""

import pytest
from tests.unit.bench.test_place import MACHINE

import published


def gain(value, half=0.1):
    return [value, value - half, value + half]


def row(value, seed=1):
    return {
        "seed": seed, "settings": {"a": 1}, "search_runs": 30, "confirm_runs": 40, "seconds": 290, "noise": 0.4,
        "published": gain(0.37), "found": value,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("result", "equal"),
    [
        (gain(0.5), True),
        (gain(0.36), True),
        (gain(0.2), False),
        (gain(0.36, 0.4), False),  # not shown to be a gain
        (None, False),
    ],
)
def test_a_study_equals_what_is_published_within_the_error_of_both(result, equal):
    assert published.equalled(row(result)) is equal


def test_settings_are_found_again_whatever_their_arm_is_called():
    ratio = {"value": 2.0, "low": 1.25, "high": 4.0}
    tried = {
        "arms": [
            {"name": "baseline", "settings": {}, "overall": 0.4},
            {"name": "tuned", "settings": {"b": 2}},
            {"name": "found", "settings": {"a": 1}},
        ],
        "comparisons": [{"arm": "tuned", "ratio": ratio}, {"arm": "found", "ratio": None}],
    }
    assert published.gain(tried, {"b": 2}) == pytest.approx([0.5, 0.2, 0.75])
    assert published.gain(tried, {"a": 1}) is None
    assert published.gain(tried, {}) is None
    assert published.noise(tried) == 0.4


def test_a_study_counts_when_it_was_searched_and_tried():
    done = row(gain(0.4))
    search = {"kind": "search", **{key: done[key] for key in ("seed", "search_runs", "confirm_runs", "seconds")}}
    tried = {"kind": "try", **{key: done[key] for key in ("seed", "noise", "published", "found")}}
    header = {"config": {"budget": "5min", "program": "hackbench"}, "machine": MACHINE, "command": "c"}
    result = published.finished(header, [search, {**search, "seed": 3}, tried])
    assert [row["seed"] for row in result["rows"]] == [1]
    text = published.report(result)
    assert "| 1 | 30 | 40 | 290 s | 40 % | 37 % (27 to 47) | 40 % (30 to 50) | yes |" in text
    assert "Equalled in 1 of 1 studies of 5min of `hackbench`" in text
