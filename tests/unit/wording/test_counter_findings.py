"""Sentences on more or slower instructions: nothing is claimed that its interval does not show."""

import pytest

from becalm.wording.counter_findings import instructions


def sentences_of(more, rate):
    numbers = {"reference": "old", "instructions": more, "rate": rate, "confidence": 0.95, "pairs": 40}
    return instructions("new", numbers)


@pytest.mark.parametrize(
    ("more", "rate", "words"),
    [
        ((0.001, -0.001, 0.003), (0.0, -0.002, 0.002), "no difference above 0.30 % in either (95 %)"),
        (
            (-0.2, -0.21, -0.19),
            (0.0, -0.01, 0.01),
            "% fewer instructions than old and as many per cycle: it does less",
        ),
        ((0.0, -0.01, 0.01), (0.1, 0.09, 0.11), "each instruction takes less time (95 %)."),
        ((0.1, 0.09, 0.11), (0.1, 0.09, 0.11), " % more per cycle (95 %)."),
        ((0.0, None, None), (0.0, -0.01, 0.01), "Too few pairs"),
    ],
)
def test_findings_on_counters_are_worded(more, rate, words):
    assert words in sentences_of(list(more), list(rate))


def test_slower_instructions_come_with_what_to_look_at():
    assert "Branch misses" in sentences_of([0.0, -0.01, 0.01], [-0.1, -0.11, -0.09])
