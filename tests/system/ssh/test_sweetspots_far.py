"""Recording who runs when on another machine, through a real ssh and sshd."""

import pytest

import becalm
from becalm.errors import RefusedError, UsageError

pytestmark = pytest.mark.usefixtures("own_directories")


def test_a_program_of_another_machine_is_recorded_there_and_not_moved(far):
    options = {"host": "far", "output": "discard"}
    try:
        spotted = becalm.record_sweetspots(["sh", "-c", "sleep 0.02; exec true"], events="faults", **options)
    except RefusedError as error:
        if "perf_event_paranoid" not in str(error):
            raise
        pytest.skip(str(error))
    assert spotted.detection["recording"]["records"] > 10
    assert {spot["kind"] for spot in spotted.spots} >= {0}, "a program begins"
    with pytest.raises(UsageError, match="on the machine where becalm runs, not on far"):
        becalm.record_sweetspots("true", migrate=1, **options)
