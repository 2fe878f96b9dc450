"""The evidence for a schedule: when two differences disagree."""

import math

from msgspec.structs import replace

from becalm.plans.schedule import ScheduleEvidence

EVIDENCE = ScheduleEvidence(
    fraction=0.2,
    turns=24,
    at_once=12,
    turns_error=0.02,
    at_once_error=0.01,
    slowdown=0.03,
    slowdown_error=0.001,
    change=0.02,
    change_error=0.005,
    apart=False,
)


def test_schedules_disagree_from_two_standard_errors_on() -> None:
    assert EVIDENCE.disagree
    assert replace(EVIDENCE, change=-0.02).disagree
    assert not replace(EVIDENCE, change=0.0099).disagree
    assert not replace(EVIDENCE, change=math.nan).disagree, "nothing is known"
