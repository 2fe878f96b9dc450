"""Settings of the boot at every start of a machine that is one, a Debian with GRUB, in as few starts as show it."""

import time

import pytest
from tests.system.guest.debian import BOOT_LIMIT_S, files, line_of

import becalm

pytestmark = [pytest.mark.guest, pytest.mark.machine]

WORDS = ("nowatchdog", "nosoftlockup", "nmi_watchdog=0")


def until(what):
    """Wait for what an emulated machine takes its time for."""
    end = time.monotonic() + 2 * BOOT_LIMIT_S
    while not what():
        assert time.monotonic() < end
        time.sleep(1)


def test_settings_of_the_boot_stay_through_a_power_cut_until_they_are_reset(bench):
    before, line = files(bench), line_of(bench)
    profile = becalm.profile(settings={"watchdogs_boot": "off"})

    def on(**options):
        return becalm.apply(profile, host="bench", sudo=True, dangerous=True, boot=True, **options).boot

    assert on(allow_reboot=True).state == "on"
    assert set(WORDS) <= set(line_of(bench).split())
    kept = on(keep=True)
    assert (kept.state, kept.parameters) == ("kept", WORDS)
    bench.root("systemd-analyze verify /etc/systemd/system/becalm-kept.service")
    bench.cut_power()
    bench.switch_on()
    assert set(WORDS) <= set(line_of(bench).split())
    # It went well, so that the next one will be the same.
    until(lambda: becalm.status("bench").boot.armed)
    entry = becalm.status("bench").boot
    assert (entry.kept, entry.running, entry.waiting, entry.default_kernel) == (True, True, False, None)
    assert f"next_entry={entry.entry}" in bench.root("grub-editenv /boot/grub/grubenv list")
    assert becalm.reset("bench", sudo=True).unsettled == ()
    assert files(bench) == before
    former = bench.boot_id()
    bench.root("systemctl reboot --no-block")
    until(lambda: bench.boot_id_or_none() not in (None, former))
    assert line_of(bench) == line
    assert files(bench) == before
    assert becalm.status("bench").boot is None
