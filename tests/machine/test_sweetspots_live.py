"""`becalm sweetspots -- CMD` and `--pid N` on real processes, by events that every machine counts."""

import json
import subprocess
import sys

import pytest

import becalm
from becalm.errors import RefusedError, UsageError, WorkloadError

pytestmark = pytest.mark.machine

GROWS = "import time\nkept = []\nfor _ in range(40):\n    kept.append(b'x' * (1 << 20)); time.sleep(.01)"
COMMAND = [sys.executable, "-c", GROWS]


def recorded(*command, **options):
    try:
        return becalm.record_sweetspots(*command, **{"events": "faults", "output": "discard", **options})
    except RefusedError as error:
        if "perf_event_paranoid" in str(error):
            pytest.skip(str(error))
        raise


def test_a_program_is_recorded_shown_saved_and_read_again(tmp_path):
    path, seconds = tmp_path / "records.json", []
    found = recorded(COMMAND, save=path, look=seconds.append)
    assert found.source == "live"
    assert not found.miss_ratio
    assert "no miss ratio" in found.events
    pid = found.found["recording"]["pid"]
    assert pid in {each["task"] for each in found.programs}
    assert 0 in {each["kind"] for each in found.spots}, "it executed a program"
    own = sum(each["references"] for each in found.windows() if each["task"] == pid)
    assert own > 40 * 200, "40 MiB were touched"
    again = becalm.sweetspots(path, rules="rise")
    assert again.found["records"] == found.found["records"] == len(json.loads(path.read_text())["records"])
    assert not again.miss_ratio
    assert again.events == found.events[:400]


@pytest.mark.parametrize("events", ["faults", "ws_turnover"])
def test_a_running_process_is_recorded_to_its_end(events):
    child = subprocess.Popen(COMMAND)
    found = recorded(pid=child.pid, events=events)
    child.wait()
    assert {each["task"] for each in found.programs} == {child.pid}
    assert found.programs[0]["ended"]
    assert list(found.windows())
    assert found.found["recording"]["cost_ns"] > 0


def test_what_cannot_be_recorded_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="What is recorded"):
        becalm.record_sweetspots()
    with pytest.raises(UsageError, match="no events 'heat'"):
        becalm.record_sweetspots(["true"], events="heat")
    with pytest.raises(WorkloadError, match="no process"):
        recorded(pid=4_000_000)
    with pytest.raises(WorkloadError):
        recorded(["/no/such/program"])
