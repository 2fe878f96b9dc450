"""Programs that are made of a few numbers."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.programs import work_of


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pipeline:stage=3", "no option 'stage'. Did you mean stages"),
        ("requests:work=5", "work is a time with its unit"),
        ("spinners:work=2h", "at most an hour"),
        ("spinners:tasks=2000000", "2000000 tasks"),
        ("phases:tasks=0", "above zero"),
        ("rings:tasks=2", "runs no program 'rings:tasks=2'"),
    ],
)
def test_invalid_patterns_are_refused(text, why):
    with pytest.raises(UsageError, match=why):
        work_of([text])
