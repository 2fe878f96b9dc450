"""The time that a run of a search may take."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.abort_limit import AbortLimit


@pytest.mark.parametrize(
    ("text", "of_a_second"),
    [("3x", 3 * 10**9), ("2.5 x", 2.5 * 10**9), ("300%", 3 * 10**9), ("1.5s", 1.5 * 10**9), ("40ms", 4 * 10**7)],
)
def test_times_and_durations(text, of_a_second):
    limit = AbortLimit.parse(text)
    assert limit.limit_ns(1e9) == of_a_second
    assert AbortLimit.parse(limit.spelled) == limit


@pytest.mark.parametrize("text", ["3", 3, "1x", "0x", "1.4x", "100%", "-3x", "fast", "", "0s", "x", "nan"])
def test_ambiguous_limits_and_limits_that_end_good_runs_are_refused(text):
    with pytest.raises(UsageError, match="--abort-above"):
        AbortLimit.parse(text)
