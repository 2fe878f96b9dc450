"""Rounds that a rule has flagged: what a mapping would say of them, in far less room."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from becalm.study.flagged_rounds import FlaggedRounds

MEASURES = st.lists(st.sampled_from(["cpu", "steal", "page-outs"]), min_size=1, unique=True).map(tuple)


@given(st.lists(st.dictionaries(st.integers(0, 30), MEASURES), max_size=5), st.sets(st.integers(0, 30)))
def test_it_says_what_a_mapping_of_the_last_word_says(blocks, finished):
    flagged, mapping = FlaggedRounds(), {}
    for block in blocks:
        flagged.update(block)
        mapping.update(block)
    assert len(flagged) == len(mapping)
    rounds, measures = flagged.among(np.array(sorted(finished), dtype=np.int32))
    assert rounds == sorted(mapping.keys() & finished)
    reasons = [measure for number in rounds for measure in mapping[number]]
    assert measures == {reason: reasons.count(reason) for reason in reasons}


def test_a_hundred_thousand_rounds_take_less_than_ten_bytes_each():
    """A mapping takes more than a hundred: number, combination, and their places in it."""
    flagged, rounds = FlaggedRounds(), 100_000
    flagged.update({0: ("cpu", "steal")})
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for first in range(1, rounds, 1000):
            flagged.update(dict.fromkeys(range(first, first + 1000), ("cpu", "steal")))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(flagged) == rounds + 1
    assert taken < 10 * rounds
