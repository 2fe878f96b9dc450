"""Failures while settings are applied, kept or restored: nothing is lost, and every report is true."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.needs import need
from tests.samples import samples
from tests.support.laptop import BOOT_ID, changed, laptop, put, snapshot, strays
from tests.support.memory_directory import let_others_in
from tests.support.talk import Agent, end, guards, runs
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts.agent import agent_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount or to become somebody else")

SWAPPINESS = "proc/sys/vm/swappiness"
INTERVAL = "proc/sys/vm/stat_interval"
HELD = {"swappiness": 10, "stat_interval": 20}


@pytest.fixture
def root(tmp_path):
    return laptop(tmp_path / "root", cpus=4)


def journal(root) -> Path:
    return root / "var/lib/becalm/journal"


def restore(root, *options) -> subprocess.CompletedProcess[str]:
    command = [agent_path(), "restore", "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_LIMIT_S)


def mount(*arguments) -> None:
    done = subprocess.run([need("mount"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting is not possible here: {done.stderr.strip()}")


@pytest.fixture
def read_only(tmp_path):
    """A function that makes a file read-only, whoever writes; and one that ends that."""
    mounted: list[Path] = []

    def close(path: Path) -> None:
        mount("--bind", path, path)
        mounted.append(path)
        mount("-o", "remount,bind,ro", path)

    def reopen(path: Path) -> None:
        subprocess.run(["umount", str(path)], check=True)
        mounted.remove(path)

    yield close, reopen
    for path in mounted:
        subprocess.run(["umount", str(path)], check=True)


def left_behind(root, settings=None) -> None:
    """Leave settings behind whose agent and guard were both killed."""
    agent = Agent(root)
    agent.done("hold", settings=settings or HELD, dangerous=True)
    for guard in guards(root):
        end(guard)
    agent.kill()
    agent.process.stdout.close()


# --- putting on -------------------------------------------------------------------------------------------------------


@needs_root
def test_a_journal_that_has_no_room_keeps_everything_as_it_is(root):
    before = snapshot(root)
    directory = root / "var/lib/becalm"
    directory.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", "size=16k,nr_inodes=8", "none", directory)
    try:
        filler = directory / "filler"
        filler.write_bytes(b"x" * 12288)
        with Agent(root) as agent:
            # The first page is there for the journal's beginning, not for all the places of this.
            many = {"irq_affinity": "away", "frequency_floor": "max", "governor": "performance", "smt": "off"}
            assert agent.error("hold", settings=many, dangerous=True)["kind"] == "journal"
            assert changed(before, snapshot(root)) == {}
            # With room again the same conversation goes on, and its journal is whole.
            filler.unlink()
            agent.done("hold", settings=many, dangerous=True)
            for guard in guards(root):
                end(guard)
            agent.kill()
        done = restore(root)
        assert (done.returncode, done.stderr) == (0, "")
        filler.write_bytes(b"x" * 16384)
        with Agent(root) as agent:
            assert agent.error("hold", settings=HELD)["kind"] == "journal"
        assert changed(before, snapshot(root)) == {}
        assert sorted(path.name for path in directory.iterdir() if path.name != "last-restore") == ["filler"]
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@needs_root
def test_a_journal_that_fills_up_during_a_study(root):
    before = snapshot(root)
    directory = root / "var/lib/becalm"
    directory.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", "size=64k", "none", directory)
    try:
        (directory / "filler").write_bytes(b"x" * 61440)
        with Agent(root) as agent:
            agent.define([{"swappiness": value, "stat_interval": 20} for value in range(200)])
            steps = [[0, which, 0, 0] for which in range(200)]
            assert agent.error("measure", first=0, steps=steps)["kind"] == "journal"
            assert changed(before, snapshot(root)) == {}
            assert agent.error("measure", first=0, steps=steps[150:])["kind"] == "journal"
            (directory / "filler").unlink()
            assert agent.done("measure", first=0, steps=steps[100:])["ran"] == 100
            for guard in guards(root):
                end(guard)
            agent.kill()
        done = restore(root)
        assert (done.returncode, done.stderr) == (0, "")
        assert changed(before, snapshot(root)) == {}
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@needs_root
def test_a_place_that_refuses_undoes_all_others(root, read_only):
    before = snapshot(root)
    read_only[0](root / INTERVAL)
    with Agent(root) as agent:
        error = agent.error("hold", settings={**HELD, "governor": "performance", "isolation": "first-core"})
        assert error["kind"] == "refused"
        assert "stat_interval" in error["message"]
        assert changed(before, snapshot(root)) == {}
        # The conversation goes on.
        agent.done("hold", settings={"swappiness": 11})
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_a_knob_that_vanishes_between_define_and_measure(root):
    before = snapshot(root)
    with Agent(root) as agent:
        agent.define([HELD, {}])
        (root / INTERVAL).rename(root / "aside")
        error = agent.error("measure", first=0, steps=[[0, 0, 0, 0]])
        assert error["kind"] == "refused"
        (root / "aside").rename(root / INTERVAL)
        agent.done("measure", first=0, steps=[[0, 0, 0, 0], [0, 1, 0, 0]])
    assert changed(before, snapshot(root)) == {}


def test_a_device_that_is_unplugged_during_the_hold(root):
    with Agent(root) as agent:
        agent.done("hold", settings={"irq_affinity": "away"})
        irq = root / "proc/irq/121"
        shutil.rmtree(irq)
        released = agent.done("release")
        assert released["unsettled"] == []
        fates = {place["place"]: place["fate"] for place in released["places"]}
        assert fates["/proc/irq/121/smp_affinity"] == "gone"
        assert fates["/proc/irq/120/smp_affinity"] == "restored"
    assert strays(root) == []


def test_invalid_requests_are_refused_and_change_nothing(root):
    before = snapshot(root)
    with Agent(root) as agent:
        for settings, dangerous, word in [
            ({"watchdogs": "off"}, False, "consent"),
            ({"swapiness": 10}, True, "swappiness"),
            ({"swappiness": 1000}, True, "0 to 200"),
            ({"isolation": "0-3"}, True, "none would be left"),
            ({"governor": "schedutil"}, True, "performance, powersave"),
            ({"online_cpus": "9"}, True, "none of the CPUs"),
            ({"isolcpus": "0"}, True, "boot"),
        ]:
            error = agent.error("hold", settings=settings, dangerous=dangerous)
            assert word in error["message"], error
            assert error["kind"] in ("consent", "usage", "domain", "unsupported"), error
            plan = agent.error("plan", settings=settings, dangerous=dangerous)
            assert plan["message"] == error["message"]
    assert changed(before, snapshot(root)) == {}
    assert not journal(root).exists()


@needs_root
@pytest.mark.xdist_group("settings")
def test_an_ordinary_user_may_look_but_not_change():
    nobody = pwd.getpwnam("nobody")
    with Agent(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], umask=0o077) as agent:
        assert agent.error("hold", settings={"swappiness": 10})["kind"] == "permission"
        assert "journal" in agent.done("status")
        assert agent.done("plan", settings={"swappiness": 10})["changes"][0]["to"] == "10"


# --- restoring -----------------------------------------------------------------------------------------------------


@needs_root
def test_a_place_that_cannot_be_written_back_is_named_and_restored_later(root, read_only):
    before = snapshot(root)
    close, reopen = read_only
    with Agent(root) as agent:
        agent.done("hold", settings=HELD)
        close(root / SWAPPINESS)
        released = agent.done("release")
        (sentence,) = released["unsettled"]
        assert "/proc/sys/vm/swappiness" in sentence
        assert '"60"' in sentence
        assert "(os error" in sentence, "why"
        errors = {place["place"]: place["error"] for place in released["places"]}
        assert errors["/proc/sys/vm/stat_interval"] == "", "what is back has none"
        assert errors["/proc/sys/vm/swappiness"] in sentence
        assert (root / INTERVAL).read_text() == "1\n", "the others are back"
        assert journal(root).exists()
        # What is back is not becalm's any more: this is somebody's own wish, though it looks like ours.
        put(root, INTERVAL, "20")
        assert agent.error("hold", settings={"stat_interval": 5})["kind"] == "unsettled"
    assert (root / INTERVAL).read_text() == "20\n"
    put(root, INTERVAL, "1")
    done = restore(root)
    assert done.returncode == 3
    assert "swappiness" in done.stderr
    reopen(root / SWAPPINESS)
    done = restore(root)
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


@needs_root
def test_a_cpu_that_does_not_come_up(root, read_only):
    before = snapshot(root)
    close, reopen = read_only
    online = root / "sys/devices/system/cpu/cpu3/online"
    with Agent(root) as agent:
        agent.done("hold", settings={"online_cpus": "first", "governor": "performance"}, dangerous=True)
        close(online)
        (sentence,) = agent.done("release")["unsettled"]
        assert "cpu3/online" in sentence
        reopen(online)
        assert agent.done("restore")["unsettled"] == []
    assert changed(before, snapshot(root)) == {}


def test_a_change_by_somebody_else_is_reported_and_left(root):
    before = snapshot(root)
    with Agent(root) as agent:
        agent.define([HELD, {"swappiness": 10}])
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        put(root, SWAPPINESS, "33")
        drift = agent.done("measure", first=1, steps=[[0, 0, 0, 0]])["drift"]
        assert drift == [{"knob": "swappiness", "place": "/proc/sys/vm/swappiness", "wanted": "10", "found": "33"}]
        released = agent.done("release")
        assert [place["fate"] for place in released["places"] if place["knob"] == "swappiness"] == ["foreign"]
        assert (root / SWAPPINESS).read_text() == "33\n"
        assert (root / INTERVAL).read_text() == "1\n"
        assert len(agent.done("restore")["unsettled"]) == 1, "asked again, it is still theirs"
        assert agent.done("restore", force=True)["unsettled"] == []
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


@pytest.mark.parametrize("group", [True, False])
def test_groups_that_come_at_once_take_nothing_of_somebody_elses(root, group):
    """Grace periods are expedited while groups are switched, and only then is that becalm's."""
    hurry = root / "sys/kernel/rcu_expedited"
    isolated = {"isolation": "last-core"}
    with Agent(root) as agent:
        agent.done("hold", settings=isolated, keep=group)
        assert hurry.read_text() == "0\n"
        hurry.write_text("1\n")
        if not group:
            (sentence,) = agent.done("release")["unsettled"]
    if group:
        with Agent(root) as agent:
            (sentence,) = agent.done("restore")["unsettled"]
    assert "/sys/kernel/rcu_expedited" in sentence
    assert "somebody else changed it" in sentence
    assert hurry.read_text() == "1\n"
    with Agent(root) as agent:
        if group:
            agent.done("restore")
        agent.done("hold", settings=isolated)
        assert agent.done("release")["unsettled"] == []
    assert hurry.read_text() == "1\n"


def test_drift_that_a_switch_overwrites_is_still_reported(root):
    before = snapshot(root)
    with Agent(root) as agent:
        # The program changes it in its first run; the second switch sets it again.
        agent.define([HELD, {"swappiness": 20}], ("/bin/sh", "-c", f"echo 33 > {root / SWAPPINESS}"))
        done = agent.done("measure", first=0, steps=[[0, 0, 0, 0], [0, 1, 0, 0]])
        assert [(change["wanted"], change["found"]) for change in done["drift"]] == [("10", "33"), ("20", "33")]
        put(root, SWAPPINESS, "20")
    assert changed(before, snapshot(root)) == {}


def test_somebody_elses_value_becomes_the_machines_own_for_the_next_study(root):
    left_behind(root)
    put(root, SWAPPINESS, "33")
    with Agent(root) as agent:
        done = agent.done("hold", settings={"swappiness": 5})
        assert any("33" in remark for remark in done["remarks"])
        assert agent.done("release")["unsettled"] == []
    assert (root / SWAPPINESS).read_text() == "33\n"
    assert (root / INTERVAL).read_text() == "1\n"


# --- the journal ------------------------------------------------------------------------------------------------------


def test_a_journal_cut_off_anywhere_restores_what_had_been_begun(root):
    before = snapshot(root)
    left_behind(root)
    whole = journal(root).read_bytes()
    on = {name: (root / name).read_bytes() for name in (SWAPPINESS, INTERVAL)}
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 10]
    announced = [whole[:end].count(b'"record":"ours"') for end in ends]
    for length in sorted({*range(0, len(whole), samples(41, 3)), *ends[:-1], *(stop - 1 for stop in ends)}):
        journal(root).write_bytes(whole[:length])
        # What is on is what the whole lines say, since a value is written after its line.
        lines = whole[:length].count(b"\n")
        values = announced[lines - 1] if lines else 0
        for index, name in enumerate(
            (SWAPPINESS, INTERVAL) if first_is(whole, "swappiness") else (INTERVAL, SWAPPINESS)
        ):
            (root / name).write_bytes(on[name] if index < values else before[name][1])
        done = restore(root)
        assert (done.returncode, done.stderr) == (0, ""), length
        assert changed(before, snapshot(root)) == {}, length
        assert not journal(root).exists()


def first_is(whole: bytes, knob: str) -> bool:
    places = [line for line in whole.splitlines() if b'"record":"place"' in line]
    return f'"{knob}"'.encode() in places[0]


def test_a_journal_damaged_in_the_middle_is_reported_and_put_aside(root):
    before = snapshot(root)
    left_behind(root)
    lines = journal(root).read_bytes().splitlines(keepends=True)
    (lost,) = [i for i, line in enumerate(lines) if b'"record":"place"' in line and b'"swappiness"' in line]
    lines[lost] = lines[lost].replace(b'"60"', b'"61"')
    journal(root).write_bytes(b"".join(lines))
    done = restore(root)
    assert done.returncode == 3
    assert f"damaged in line {lost + 1}" in done.stderr
    assert list(changed(before, snapshot(root))) == [SWAPPINESS], "what could be read was restored"
    assert [Path(path).name.startswith("journal.damaged-") for path in strays(root)] == [True]
    with Agent(root) as agent:
        agent.done("hold", settings={"stat_interval": 5})


def test_no_byte_of_the_journal_can_be_wrong_unnoticed(root):
    left_behind(root)
    whole = journal(root).read_bytes()
    for index in range(0, len(whole) - 1, samples(53, 11)):
        flipped = bytes([*whole[:index], whole[index] ^ 0x11, *whole[index + 1 :]])
        journal(root).write_bytes(flipped)
        with Agent(root) as agent:
            assert agent.done("status")["journal"]["damaged"], index


def record(content: dict[str, object]) -> bytes:
    """Return a line of the journal."""
    text = json.dumps(content).encode()
    return f"{zlib.crc32(text):08x} ".encode() + text + b"\n"


@pytest.mark.parametrize("damage", [b"", b"not a record\n"])
def test_a_journal_of_another_boot_changes_nothing(root, damage):
    """A value that only looks like ours is the new boot's own."""
    left_behind(root)
    lines = journal(root).read_bytes().splitlines(keepends=True)
    begin = json.loads(lines[0].split(b" ", 1)[1])
    assert begin["boot"] == BOOT_ID
    journal(root).write_bytes(record({**begin, "boot": "another"}) + damage + b"".join(lines[1:]))
    assert (root / SWAPPINESS).read_text() == "10\n"
    done = restore(root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "restarted" in done.stdout
    assert (root / SWAPPINESS).read_text() == "10\n"
    assert strays(root) == []


def test_a_value_that_the_kernel_made_of_ours_is_ours(root):
    """Killed between a write and its reading back: what the kernel rounded is not taken for somebody else's."""
    before = snapshot(root)
    left_behind(root)
    lines = journal(root).read_bytes().splitlines(keepends=True)
    assert b"settled" in lines[-1]
    journal(root).write_bytes(b"".join(lines[:-1]))
    put(root, SWAPPINESS, "9")
    assert restore(root).returncode == 0
    assert changed(before, snapshot(root)) == {}


# --- more than one ----------------------------------------------------------------------------------------------------


def test_one_becalm_at_a_time(root):
    before = snapshot(root)
    with Agent(root, title="the first study") as first, Agent(root, title="the second") as second:
        first.done("hold", settings=HELD)
        error = second.error("hold", settings={"swappiness": 5})
        assert error["kind"] == "busy"
        assert "the first study" in error["message"]
        assert str(first.pid) in error["message"]
        assert "the first study" in second.done("status")["busy"]
        assert second.error("restore")["kind"] == "busy"
        assert (root / SWAPPINESS).read_text() == "10\n"
        first.done("release")
        second.done("hold", settings={"swappiness": 5})
    assert changed(before, snapshot(root)) == {}


def test_a_killed_becalm_does_not_stop_the_next(root):
    before = snapshot(root)
    left_behind(root, {**HELD, "services": "pause", "isolation": "first-core"})
    with Agent(root) as agent:
        done = agent.done("hold", settings={"stat_interval": 7})
        assert any(remark.startswith("Restored what ") for remark in done["remarks"])
        assert (root / SWAPPINESS).read_text() == "60\n"
    assert changed(before, snapshot(root)) == {}


@needs_root
def test_an_ordinary_user_sees_who_is_at_work_and_cannot_be_in_the_way(root):
    let_others_in(root)
    nobody = pwd.getpwnam("nobody")
    with (
        Agent(root, title="a study") as first,
        Agent(root, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]) as other,
    ):
        assert other.done("status")["busy"] is None
        first.done("hold", settings=HELD)
        assert other.done("status")["busy"] == f"process {first.pid} of root", "what for is for root alone"
        assert "a study" in first.done("status")["busy"]
        first.done("release")
        wait_for(lambda: other.done("status")["busy"] is None, "the guard has ended, and nobody has the lock")
    assert (root / "run/becalm/lock").stat().st_mode & 0o777 == 0o600


@needs_root
def test_settings_that_stay_can_be_seen_by_everybody_and_restored(root):
    before = snapshot(root)
    let_others_in(root)
    with Agent(root, title="a profile", umask=0o077) as agent:
        agent.done("hold", settings={**HELD, "cpu_dma_latency": 0}, dangerous=True, keep=True)
        wait_for(lambda: not guards(root), "its guard has ended")
    assert (root / SWAPPINESS).read_text() == "10\n"
    nobody = pwd.getpwnam("nobody")
    with Agent(root, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]) as agent:
        status = agent.done("status")
        assert status["journal"]["title"] == "", "it may be a command line"
        assert status["journal"]["kept"]["swappiness"] == 10
        assert {place["place"]: place["now"] for place in status["journal"]["places"]}[
            "/proc/sys/vm/swappiness"
        ] == "10"
    with Agent(root) as agent:
        error = agent.error("hold", settings={"swappiness": 5})
        assert error["kind"] == "kept"
        assert "a profile" in error["message"]
        assert agent.done("restore")["unsettled"] == []
    root.chmod(0o755)
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_a_restore_reports_how_many_places_had_to_be_and_obstacles(root):
    """The report has how many places had to be restored, and what hinders the others."""
    left_behind(root)
    put(root, INTERVAL, "1")
    assert "1 of 2 values had changed" in restore(root).stdout
    left_behind(root)
    put(root, INTERVAL, "33")
    assert "one value is not as it was" in restore(root).stdout
    put(root, INTERVAL, "1")
    assert restore(root).returncode == 0
    left_behind(root)
    for name in (SWAPPINESS, INTERVAL):
        put(root, name, "33")
    assert "2 values are not as they were" in restore(root).stdout
    (root / INTERVAL).unlink()
    (root / INTERVAL).mkdir()
    assert 'stat_interval should be "1" again, but cannot be read: ' in restore(root).stderr


def test_a_guard_that_had_to_act_is_told_of_once(root):
    agent = Agent(root)
    agent.done("hold", settings=HELD)
    agent.kill()
    agent.process.stdout.close()
    wait_for(lambda: not guards(root))
    message = "was ended before it had restored everything"
    assert message in restore(root).stdout
    assert message not in restore(root).stdout


def test_restoring_where_nothing_was_changed(root):
    done = restore(root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert restore(root / "nowhere").returncode == 3
    done = subprocess.run([agent_path(), "restore", "--fast"], capture_output=True, text=True)
    assert done.returncode == 2


def test_a_dead_guard_leaves_no_one_behind(root):
    with Agent(root) as agent:
        agent.done("hold", settings=HELD)
        (guard,) = guards(root)
        agent.done("release")
        wait_for(lambda: not runs(guard))
