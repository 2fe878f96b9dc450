"""Settings of the boot at every start of a Debian with GRUB, in as few starts as show it."""

import pytest
from tests.system.guest.debian import files, line_of
from tests.waiting import wait_for

import becalm

pytestmark = pytest.mark.xdist_group("debian")

WORDS = ("nowatchdog", "nosoftlockup", "nmi_watchdog=0")


def test_settings_of_the_boot_stay_through_a_power_cut_until_they_are_reset(bench):
    before, line = files(bench), line_of(bench)
    profile = becalm.profile(settings={"watchdogs_boot": "off"})

    def on(**options):
        return becalm.apply(profile, host="bench", sudo=True, dangerous=True, boot=True, **options).boot

    assert on(allow_reboot=True).state == "on"
    assert set(WORDS) <= set(line_of(bench).split())
    started = on(keep=True)
    assert (started.state, started.parameters) == ("kept", WORDS)
    bench.root("systemd-analyze verify /etc/systemd/system/becalm-kept.service")
    bench.cut_power()
    bench.switch_on()
    assert set(WORDS) <= set(line_of(bench).split())
    # It went well, so that the next one will be the same.
    wait_for(lambda: becalm.status("bench").boot.armed, "the next start's entry")
    entry = becalm.status("bench").boot
    assert (entry.permanent, entry.running, entry.waiting, entry.default_kernel) == (True, True, False, None)
    assert f"next_entry={entry.entry}" in bench.root("grub-editenv /boot/grub/grubenv list")
    assert becalm.reset("bench", sudo=True).unsettled == ()
    assert files(bench) == before
    starts = bench.starts()
    # It may go down before it has answered.
    bench.ssh("root", "systemctl reboot --no-block")
    bench.wait_started(starts)
    assert line_of(bench) == line
    assert files(bench) == before
    assert becalm.status("bench").boot is None
