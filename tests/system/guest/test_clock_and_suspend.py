"""The clock of a machine is set forward and back, and the machine sleeps, while settings are on and programs run."""

import pytest
from tests.measuring import ran
from tests.system.guest.kernels import outputs, shell

from becalm.nouns.settings import Settings

HELD = {"swappiness": 13, "stat_interval": 20}
LOOK = shell("cat /proc/sys/vm/swappiness /proc/sys/vm/stat_interval")
DAY_S = 86_400
STEPS = (DAY_S, -3 * DAY_S, 2 * DAY_S)
"""Forward, back beyond the start of the session, and to about where it was."""


def set_clock(by):
    """Return a program that steps the clock by so many seconds (clock_settime(2)) and works a little."""
    return shell(f"date -s @$(($(date +%s) + {by})) > /dev/null; i=0; while [ $i -lt 300 ]; do i=$((i+1)); done")


def check_on_and_off_again(guest, before):
    """Check that settings are still on, and that all is as before with the first program without them."""
    with_settings = {row.name: str(row.value) for row in guest.knobs() if row.name in HELD}
    assert with_settings == {name: str(value) for name, value in HELD.items()}
    assert outputs(guest, (LOOK, 0)) == before


def test_runs_and_settings_do_not_depend_on_the_wall_clock(guest):
    before = outputs(guest, (LOOK, 0))
    programs = [set_clock(by) for by in STEPS]
    guest.define(programs, [Settings.of(HELD)])
    runs = ran(guest, *((index, 0) for index in range(len(programs))))
    assert [run.outcome for run in runs] == ["ok"] * len(STEPS)
    assert all(0 < run.wall_ns < DAY_S * 1e9 for run in runs), "a step is not in any time"
    check_on_and_off_again(guest, before)


SLEEP = "echo mem > /sys/power/state"
"""Sleep until the machine is woken (Documentation/admin-guide/pm/sleep-states.rst)."""


def test_settings_stay_on_and_come_back_over_a_suspend(guest):
    if "mem" not in outputs(guest, (shell("cat /sys/power/state"), 0))[0]:
        pytest.skip("this machine does not sleep to memory")
    before = outputs(guest, (LOOK, 0))
    count = shell("cat /sys/power/suspend_stats/success")
    (slept,) = outputs(guest, (count, 0))
    guest.define([shell(SLEEP), shell("true")], [Settings.of(HELD)])
    with guest.monitor.waking():
        runs = ran(guest, (0, 0), (1, 0))
    assert [run.outcome for run in runs] == ["ok", "ok"]
    check_on_and_off_again(guest, before)
    assert int(outputs(guest, (count, 0))[0]) == int(slept) + 1
