"""Settings of the boot on a machine that is one, a Debian with GRUB: kept at every start, and a study that tries them.

A start takes 40 s and more in emulation, so there are two tests with as few as show it.
"""

import subprocess
import sys
import time

import pytest
from tests.guest.debian import BOOT_LIMIT_S, files, line_of

import becalm
from becalm.nouns.progress import Quiet
from becalm.store import Store

pytestmark = [pytest.mark.guest, pytest.mark.machine]

WORDS = ("nowatchdog", "nosoftlockup", "nmi_watchdog=0")


def until(what):
    """Wait for what an emulated machine takes its time for."""
    end = time.monotonic() + 6 * BOOT_LIMIT_S
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


PROGRAM = """
cat /proc/cmdline
if grep -q nowatchdog /proc/cmdline; then
  if [ -e odd ]; then rm odd; sleep 1.5; else touch odd; fi
fi
sleep 0.3
"""
"""The setting of the boot makes it unsteady, so that the search is sure to end without it: a confirmation is eight
starts more."""


class PowerCut(Quiet):
    """Cuts the machine's power once, while runs with the setting come in, and looks at what is left."""

    def __init__(self, bench):
        self.bench, self.said, self.during, self.left = bench, [], None, None

    def running(self, done):
        if self.during is None:
            self.during = line_of(self.bench)
            self.bench.cut_power()
            self.bench.switch_on()
            self.left = files(self.bench)

    def warned(self, sentence):
        self.said.append(sentence)


TRIAL = 16
"""Runs with the setting: two loops of eight."""


def rows_of(study):
    with Store.open() as store:
        return list(store.runs(study)) if store.studies(limit=1) else []


def tried():
    """How many runs with the setting are kept."""
    return sum(run.settings == 1 for run in rows_of(1))


def test_a_study_of_the_boot_that_is_killed_and_loses_power_comes_to_its_verdict(bench):
    before, line = files(bench), line_of(bench)
    words = (
        "tune --host bench --sudo --allow-reboot --dangerous --only watchdogs_boot --method greedy --loops 2 --runs 8"
    )
    options = ["--warmups", "0", "--no-profiles", "--output", "keep"]
    command = [sys.executable, "-m", "becalm", *words.split(), *options, "--", "sh", "-c", PROGRAM]
    log = bench.path / "tune"
    with log.open("wb") as file:
        study = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    try:
        # After the machine as it is, tried twice, comes the second start with the setting.
        until(lambda: study.poll() is not None or tried())
        assert study.poll() is None, log.read_text()
    finally:
        study.kill()
        study.wait()
    killed = len(rows_of(1))
    assert tried() < TRIAL
    # Somebody comes hours later; the machine runs with the setting still, and is not started again for that.
    cut = PowerCut(bench)
    verdict = becalm.tune(resume=1, sudo=True, listener=cut)
    assert "nowatchdog" in cut.during
    assert cut.left == before, "it came back on its own entry, and the service removed becalm's"
    restarts = [sentence for sentence in cut.said if "is restarted" in sentence]
    assert restarts == [f"bench is restarted with {' '.join(WORDS)}.", "bench is restarted as it was before."]
    assert verdict.settings == {}
    assert verdict.study == 1
    with Store.open() as store:
        assert store.verdict(1) is not None
        texts = store.texts(1)
    rows = rows_of(1)
    assert [run.seq for run in rows] == list(range(len(rows)))
    assert {run.outcome for run in rows} == {"ok"}
    assert tried() == TRIAL
    assert len(rows) > killed
    assert all(("nowatchdog" in texts[run.seq][1]) == (run.settings == 1) for run in rows if run.seq in texts)
    assert {run.settings for run in rows if run.seq in texts} == {0, 1}
    assert line_of(bench) == line
    assert files(bench) == before
    assert becalm.status("bench").anything is False
