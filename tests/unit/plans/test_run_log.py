"""Every run of a small study, as it came."""

import pytest
from tests.unit.plans.small import a_run

from becalm.nouns.run import Step
from becalm.plans.run_log import RunLog


def test_numbers_follow_the_last_run():
    log = RunLog()
    assert (log.next_seq, log.next_round) == (0, None)
    log.extend([a_run(0, Step(0, 0, 0, -1)), a_run(1, Step(0, 0, 0, 4))])
    assert (log.next_seq, log.next_round) == (2, 5)


@pytest.mark.parametrize(("outcome", "ends"), [("ok", False), ("aborted", False), ("failed", True), ("timeout", True)])
def test_a_run_that_does_not_end_well_ends_the_study_where_that_is_meant(outcome, ends):
    rows = [a_run(seq, Step(0, 0, 0, seq), outcome=outcome if seq else "ok") for seq in range(3)]
    log, goes_on = RunLog(), RunLog(goes_on=True)
    for item in (log, goes_on):
        item.extend(rows)
    assert log.failure == (rows[1] if ends else None)
    assert goes_on.failure is None
    assert log.rows == goes_on.rows == rows
