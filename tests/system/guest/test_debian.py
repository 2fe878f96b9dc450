"""A real Debian with GRUB, systemd and sshd: programs, settings, restarts, a power cut.

It is reached through ssh and runs in QEMU. A restart takes half a minute, so that few tests do much.
"""

import json
import os
import re
from pathlib import Path

import pytest
from tests.measuring import ran
from tests.system.guest.debian import ENTRY, command, files, line_of
from tests.system.guest.image import MARK
from tests.waiting import wait_for

import becalm
from becalm import hosts
from becalm.errors import BootError
from becalm.hosts import Access
from becalm.hosts.agent import AgentHost
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.plans import interleave
from becalm.results.progress import Quiet
from becalm.store import Store
from becalm.verbs import settings_service

pytestmark = pytest.mark.xdist_group("debian")

# Mild: an emulated machine with nohz_full, say, may hang where other work keeps the processors busy.
BY_BOOT = {"mitigations": "off", "stat_interval": 23}


class PowerCut(Quiet):
    """A listener that cuts the machine's power at the second look at the data, and looks at it when it is up again."""

    def __init__(self, bench):
        self.bench, self.calls, self.sentences = bench, 0, []
        self.during = self.after = self.left = self.interval = None

    def progressed(self, state):
        self.calls += 1
        if self.calls == 2:
            self.during = (line_of(self.bench), self.bench.root("cat /proc/sys/vm/stat_interval"))
            self.bench.cut_power()
            self.bench.switch_on()
            self.after, self.left = line_of(self.bench), files(self.bench)
            self.interval = self.bench.root("cat /proc/sys/vm/stat_interval")

    def warned(self, sentence):
        self.sentences.append(sentence)


def test_programs_are_run_there(bench):
    words = ("--runs", "2", "--output", "inherit", "--", "cat", "/proc/version", "/etc/hostname")
    done = command("run", "--host", "bench", *words)
    assert done.returncode == 0, done.stderr
    assert bench.root("uname -r") in done.stdout
    assert "bench" in done.stdout.split()


def test_settings_are_applied_and_restored_there(bench):
    read = "cat /proc/sys/vm/stat_interval"
    before = bench.root(read)
    words = ("--runs", "2", "--warmup", "0", "--output", "inherit", "--set", "stat_interval=23", "--", *read.split())
    done = command("run", "--host", "bench", "--sudo", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("23") == 2
    assert bench.root(read) == before
    assert json.loads(command("status", "--host", "bench", "--json").stdout)["anything"] is False


STARTED_AGAIN = re.compile(f"{ENTRY}.*Booting `Debian GNU/Linux'.*{MARK}", re.DOTALL)
"""The console of a machine that has been started by becalm's entry and then by its own."""

LEFT_ON = """
cd "$(mktemp -d)"
cat > talk <<'END'
{"id":1,"do":"open","protocol":1,"environment":{},"directory":"/"}
{"id":2,"do":"hold","settings":SETTINGS,"dangerous":true}
END
(cat talk; exec sleep 3600) | AGENT serve > said 2>&1 &
until grep -q '"id":2' said || ! kill -0 $!; do sleep 0.1; done
pkill -9 becalm-guard; pkill -9 becalm-agent; pkill -x sleep; cat said
"""


def test_the_service_restores_with_the_rights_that_are_left_to_it(bench):
    """Check that a unit without devices, files, rights and system calls has enough left."""
    values = "sysctl -n vm.stat_interval vm.swappiness kernel.randomize_va_space"
    before = bench.root(values)
    settings = '{"stat_interval": 33, "swappiness": 7, "aslr_system": "off"}'
    script = LEFT_ON.replace("SETTINGS", settings).replace("AGENT", f"/{settings_service.AGENT}")
    answers = bench.root(script)
    assert bench.root(values).split() == ["33", "7", "0"], answers
    bench.root(f"systemctl start {settings_service.NAME}")
    assert bench.root(values) == before
    assert "journal" not in bench.root("ls /var/lib/becalm")


def test_a_study_goes_on_through_restarts_and_a_power_cut_and_leaves_nothing(bench, monkeypatch):
    # However fast the machine is, runs are left at the second look.
    monkeypatch.setattr(interleave, "LARGEST_BLOCK", 3)
    before, line = files(bench), line_of(bench)
    cut = PowerCut(bench)
    program = ["sh", "-c", "cat /proc/cmdline /proc/sys/vm/stat_interval"]
    verdict = becalm.run(
        program,
        host="bench",
        sudo=True,
        allow_reboot=True,
        dangerous=True,
        settings=BY_BOOT,
        runs=12,
        output="keep",
        listener=cut,
    )
    # It was on the entry, came back on the usual one by itself, and there the service had removed everything.
    assert "mitigations=off" in cut.during[0]
    assert cut.during[1] == "23"
    assert cut.after == line
    assert cut.interval == "1"
    assert cut.left == before
    # becalm has restarted it again for the rest of the runs, all of which had the settings, and at last as before.
    with Store.open() as store:
        rows, texts = list(store.runs(verdict.study)), store.texts(verdict.study)
    assert [run.seq for run in rows] == list(range(13)), "one of them is the warm-up"
    assert all("mitigations=off" in texts[run.seq][1] and texts[run.seq][1].endswith("\n23\n") for run in rows)
    restarts = [sentence for sentence in cut.sentences if "is restarted" in sentence]
    assert restarts == ["bench is restarted with mitigations=off."] * 2 + ["bench is restarted as it was before."]
    assert line_of(bench) == line
    assert files(bench) == before
    assert becalm.status("bench").anything is False


def agent_of(host):
    """Return the agent that a host of the kind ssh is around at the moment."""
    return host.inner.inner.inner


def test_an_entry_that_was_not_started_is_reported_and_the_rest_goes_on(bench, monkeypatch):
    """Have the machine come back on its usual entry, because somebody else has told GRUB what to start next."""
    before, line = files(bench), line_of(bench)
    restart = AgentHost.restart

    def elsewhere(self):
        bench.root("grub-editenv /boot/grub/grubenv unset next_entry")
        restart(self)

    monkeypatch.setattr(AgentHost, "restart", elsewhere)
    sentences = []
    with hosts.open("bench", Access(sudo=True, reboot=True, say=sentences.append)) as host:
        host.define([Workload.of("true")], [Settings(), Settings.of({"mitigations": "off"})], dangerous=True)
        with pytest.raises(BootError, match="did not come up with mitigations=off"):
            ran(host, (0, 1))
        assert [run.outcome for run in ran(host)] == ["ok"]
        host.settle()
    assert sentences == ["bench is restarted with mitigations=off."], "it was not restarted for the rest"
    assert line_of(bench) == line
    assert files(bench) == before


def test_an_armed_entry_is_understood_by_all_who_read_it_and_removed_by_reset(bench):
    before = files(bench)
    with hosts.open("bench", Access(sudo=True, reboot=True)) as host:
        entry = agent_of(host).boot(("mitigations=off",), dangerous=True)["entry"]
        assert files(bench) != before
    assert f"next_entry={entry}" in bench.root("grub-editenv /boot/grub/grubenv list")
    bench.root("grub-script-check /boot/grub/custom.cfg && systemd-analyze verify /etc/systemd/system/becalm-boot.*")
    becalm.reset("bench", sudo=True)
    assert files(bench) == before


def test_a_boot_that_nobody_finds_healthy_is_ended_by_the_machine_itself(bench):
    """Wait until the machine has restarted when its limit has passed, by its own entry, and removed the other."""
    before, line, former = files(bench), line_of(bench), bench.boot_id()
    length = len(bench.console())
    with hosts.open("bench", Access(sudo=True, reboot=True)) as host:
        agent_of(host).boot(("mitigations=off",), limit_s=60, dangerous=True)
        agent_of(host).restart()
    wait_for(lambda: ENTRY in bench.console()[length:], "the start by becalm's entry")
    wait_for(lambda: STARTED_AGAIN.search(bench.console()[length:]), "the start by its own entry")
    assert bench.boot_id() != former
    assert line_of(bench) == line
    assert bench.console()[length:].count(ENTRY) == 1
    bench.wait_services()
    assert files(bench) == before


YEAR_NS = 365 * 86400 * 10**9


def test_a_machine_whose_clock_is_years_ahead(bench):
    bench.root("date -s '+5 years'")
    try:
        verdict = becalm.run("true", host="bench", runs=5, warmup=0)
    finally:
        bench.root("date -s '-5 years'")
    with Store.open() as store:
        rows = list(store.runs(verdict.study))
    assert rows[0].started_ns > Path(os.environ["BECALM_STORE"]).stat().st_mtime_ns + 4 * YEAR_NS
    assert 0 < verdict.elapsed_ns < YEAR_NS
