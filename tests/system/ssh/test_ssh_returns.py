"""A lost connection is made again, and the study goes on: nothing is lost, nothing is left on, nothing is run twice."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from msgspec.structs import replace
from tests.measuring import measure_events
from tests.support.account import MARK, begun, count_stored_runs, nothing_lost
from tests.support.becalms import state
from tests.system.ssh.far import Cutting, keygen
from tests.system.ssh.test_ssh import QUICK, STAT_INTERVAL, as_root
from tests.waiting import wait_for

import becalm
from becalm import hosts
from becalm.errors import LostError, RefusedError
from becalm.hosts import Ability, Access, Runs
from becalm.hosts.ssh import install, reconnecting
from becalm.hosts.ssh.link import SshLink
from becalm.nouns.run import Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.progress import Quiet
from becalm.store import Store

pytestmark = pytest.mark.usefixtures("own_directories")


def runs_of(study):
    with Store.open() as store:
        return list(store.runs(study))


def test_a_run_goes_on_after_a_lost_connection(far):
    cutting = Cutting(far, 2)
    verdict = becalm.run("sleep 0.02", host="far", runs=30, warmup=0, listener=cutting)
    assert [run.seq for run in runs_of(verdict.study)] == list(range(30))
    assert verdict.summaries[0].runs == 30
    lost, back = cutting.said
    assert "The connection to far was lost" in lost
    assert "far answers again" in back


@as_root
def test_settings_are_off_while_nobody_is_there_and_on_again_afterwards(far):
    before, seen = STAT_INTERVAL.read_text(), []

    def cut():
        far.cut()
        wait_for(lambda: STAT_INTERVAL.read_text() == before)
        seen.append("off")

    cutting = Cutting(far, 2, STAT_INTERVAL, how=cut)
    argv = ["sh", "-c", f"test $(cat {STAT_INTERVAL}) = 37"]
    verdict = becalm.run(argv, host="far", runs=20, warmup=0, settings={"stat_interval": 37}, listener=cutting)
    assert (cutting.seen, seen) == ("37", ["off"])
    assert {run.outcome for run in runs_of(verdict.study)} == {"ok"}
    assert STAT_INTERVAL.read_text() == before


@pytest.mark.parametrize("request_", ["define", "measure", "release", "facts"])
def test_a_connection_that_is_lost_at_any_request(far, monkeypatch, request_):
    left = [request_]
    send = SshLink.send

    def cutting(self, line, patience):
        request = json.loads(line)["do"]
        if request in left:
            left.remove(request)
            far.cut()
        return send(self, line, patience)

    monkeypatch.setattr(SshLink, "send", cutting)
    verdict = becalm.run("true", host="far", runs=3, warmup=0, settings={"nice": 1})
    assert not left, "it was asked"
    assert [run.seq for run in runs_of(verdict.study)] == [0, 1, 2]
    assert becalm.status("far").anything is False


def test_a_connection_that_is_lost_in_the_greeting_is_an_error(far, monkeypatch):
    monkeypatch.setattr(install, "START", "exit 255 # {sudo}{silence}{spool}{name}")
    with pytest.raises(LostError):
        becalm.run("true", host="far", runs=3)


def test_finished_runs_that_had_not_arrived_are_fetched_and_the_former_agent_ends(far, spools, tmp_path, gate):
    """The network is cut: the agent goes on, its runs do not arrive, and it does not know that nobody is there."""
    file, messages, seen = tmp_path / "made", [], []
    # The network is cut while the twentieth run waits; the first ones have been told by then.
    program = Workload.of(["sh", "-c", f"sleep 0.02; printf x >> {file}; [ $(wc -c < {file}) -ne 20 ] || {gate.wait}"])
    with hosts.open("far", Access(say=messages.append)) as host:
        host.define([program], [Settings()])
        for event in measure_events(host, *(Step(0, 0, 0, index) for index in range(100))):
            if not isinstance(event, Runs):
                continue
            if not seen:
                far.stall()
                gate.open()
                # Some more, of which nothing will be heard but by way of the spool.
                wait_for(lambda: file.stat().st_size > 30, "runs that do not arrive")
                # ssh ends, as it does when nothing is heard from there any more.
                (client,) = far.clients()
                os.kill(client, signal.SIGKILL)
            seen += event.rows
    # The stalled sessions would stay for the tests that follow.
    far.cut()
    assert len(spools) > 1
    assert not any(path.exists() for path in spools), "it goes with the conversation"
    assert [run.seq for run in seen] == list(range(100))
    # A busy machine may lose the connection once more, by itself.
    lost = sum("was lost" in message for message in messages)
    assert any("finished runs were there" in message for message in messages)
    # The one that was running when a former agent was ended may have come so far.
    assert 100 <= file.stat().st_size <= 100 + lost


def test_an_agent_that_has_gone_meanwhile_is_copied_again(far):
    def cut():
        shutil.rmtree(far.home / ".cache/becalm")
        far.cut()

    verdict = becalm.run("sleep 0.02", host="far", runs=20, warmup=0, listener=Cutting(far, 2, how=cut))
    assert verdict.summaries[0].runs == 20
    assert len(far.agents()) == 1


def test_another_machine_at_the_same_address_is_not_gone_on_with(far, tmp_path):
    """At once, without trying for minutes; and the study can go on when the person has looked."""
    keygen(tmp_path / "other")

    def cut():
        far.known_hosts(tmp_path / "other.pub")
        far.cut()

    with pytest.raises(LostError, match="The key of far has changed") as caught:
        becalm.tune(["true"], host="far", listener=Cutting(far, 2, how=cut), **QUICK)
    assert "Nothing was started" not in str(caught.value)
    assert "becalm tune --resume 1" in str(caught.value)
    far.known_hosts(far.path / "host_key.pub")
    assert becalm.tune(resume=1).study == 1


def test_a_search_goes_on_and_concludes(far):
    there = becalm.tune(["true"], host="far", listener=Cutting(far, 3), **QUICK)
    runs = runs_of(there.study)
    assert [run.seq for run in runs] == list(range(len(runs)))
    with Store.open() as store:
        assert store.verdict(there.study) is not None


def test_a_machine_is_not_restarted_without_consent(far):
    with hosts.open("far") as host:
        able = host.abilities()[Ability.REBOOT]
        assert not able
        assert "--allow-reboot" in able.reason
        with pytest.raises(RefusedError, match="--allow-reboot"):
            host.reboot(("nohz_full=1",))


@as_root
def test_a_resumed_search_has_the_user_and_the_consent_that_it_had(far, monkeypatch):
    monkeypatch.setattr(reconnecting, "RETURN_SECONDS", 0)
    opened, open_ = [], hosts.open

    def opening(name, access):
        if name == "far":
            opened.append(access)
        # This machine is not restarted by a test, whatever it would consent to.
        return open_(name, replace(access, reboot=False))

    monkeypatch.setattr(hosts, "open", opening)
    options = {"user": "nobody", "allow_reboot": True, "directory": "/"}
    with pytest.raises(LostError, match="--resume 1"):
        becalm.tune(["true"], host="far", listener=Cutting(far, 2, gone=True), **options, **QUICK)
    far.configure()
    becalm.tune(resume=1)
    assert [(workload.user, workload.reboot) for workload in opened] == [("nobody", True)] * 2


KILLED = """
import becalm, sys
from becalm.plans import interleave
# All but the first run in one block: between blocks nothing runs while becalm is stopped.
interleave.FIRST_BLOCK_NS = interleave.LONGEST_BLOCK_NS = 10**15
becalm.run(['sh', '-c', sys.argv[1]], host='far', warmup=0, runs=5000, budget='none')
"""


@pytest.mark.parametrize("asleep", [False, True], ids=["reading", "stopped"])
def test_finished_runs_of_a_killed_becalm_are_fetched_by_the_next(far, tmp_path, asleep):
    """Stopped before, so that it has not heard of many runs, or in the middle of its work."""
    log = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-c", KILLED, f"printf {MARK} >> {log}; sleep 0.01"])
    wait_for(lambda: begun(log) > 10)
    if asleep:
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: state(process.pid) == "T", "becalm has stopped")
        more = begun(log) + 3
        wait_for(lambda: begun(log) > more, "runs of which becalm has not heard")
    process.kill()
    process.wait()
    wait_for(lambda: not far.sessions())
    before, messages = count_stored_runs(os.environ["BECALM_STORE"]), []
    elsewhere = becalm.run("true", host="local", runs=1, listener=Telling(messages))
    assert (elsewhere.study, messages) == (2, []), "another host leaves them where they are"
    becalm.run("true", host="far", runs=1, listener=Telling(messages))
    nothing_lost(log, os.environ["BECALM_STORE"])
    got = count_stored_runs(os.environ["BECALM_STORE"]) - before
    assert got > 0 or not asleep
    # With the one that was ended, perhaps.
    remarks = [f"Recovered {count} run{'s' * (count > 1)} of study 1" for count in (got, got + 1)]
    assert any(remark in line for line in messages for remark in remarks) or got == 0
    messages.clear()
    becalm.run("true", host="far", runs=1, listener=Telling(messages))
    assert messages == [], "once"


class Telling(Quiet):
    """A listener that keeps the sentences."""

    def __init__(self, message):
        self.said = message

    def warned(self, sentence):
        self.said.append(sentence)
