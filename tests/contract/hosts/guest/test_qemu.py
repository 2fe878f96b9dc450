"""The machine: a script plays QEMU, and in it the agent, a kernel that panics, one that hangs, and others."""

import gzip
import io
import os
import select
import shlex
import signal
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.measuring import measure_events, ran, runs_and_texts
from tests.support.cpio_archive import entries
from tests.support.elves import module, package, vmlinuz
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

from becalm import hosts, system_clock
from becalm.errors import BootError, MachineError, UsageError, WorkloadError
from becalm.hosts import Access, runs_of
from becalm.hosts.agent import agent_path
from becalm.hosts.guest import kernel, qemu
from becalm.hosts.guest.options import parse
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload

PATIENT = f"guest:6.1?accel=tcg&limit={HANG_LIMIT_S:g}s"
"""A machine that boots, however busy this one is."""

CONSOLE = 'for word; do case "$word" in file,id=console,path=*) console="${word#file,id=console,path=}";; esac; done\n'


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Put a script in QEMU's place; its runs are counted in `log`, with the arguments of each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    for limit in ("PATIENCE_S", "END_S"):
        monkeypatch.setattr(qemu, limit, HANG_LIMIT_S)
    # Whether this machine has /dev/kvm must not matter.
    monkeypatch.setattr(
        qemu, "accelerators", lambda wanted: ("kvm", qemu.EMULATED) if wanted == "auto" else (qemu.EMULATED,)
    )
    release = "6.1.0-9-cloud-amd64"
    below = f"lib/modules/{release}"
    files = {f"boot/vmlinuz-{release}": vmlinuz(release), f"{below}/kernel/zram.ko": module("zram", "zsmalloc")}
    (tmp_path / "k.deb").write_bytes(package({**files, f"{below}/kernel/zsmalloc.ko": module("zsmalloc")}))
    kernel.prepare(f"{tmp_path}/k.deb")
    (tmp_path / "bin").mkdir()

    def with_script(text):
        path = tmp_path / "bin" / qemu.PROGRAM
        path.write_text(f'#!/bin/sh\n{CONSOLE}echo "$@" >> {tmp_path}/log\n{text}\n')
        path.chmod(0o755)

    with_script.log = tmp_path / "log"
    return with_script


class SkippingClock(system_clock.SystemClock):
    """The clock of this machine, which limits that are waited for in vain move forward."""

    skipped_ns = 0

    def monotonic_ns(self):
        return system_clock.SystemClock.monotonic_ns() + self.skipped_ns


@pytest.fixture
def limits(monkeypatch):
    """Return a function: it takes a condition that ends a wait for the guest, as if the limit had passed."""

    def end(condition):
        clock = SkippingClock()

        def wait(read, write, other, limit_s=None):
            ready = wait_for(lambda: any(select.select(read, [], [], 0)) or (limit_s is not None and condition()))
            if any(select.select(read, [], [], 0)):
                return read, [], []
            assert ready
            clock.skipped_ns += round(limit_s * 1e9)
            return [], [], []

        monkeypatch.setattr(system_clock, "current", clock)
        monkeypatch.setattr(qemu, "select", SimpleNamespace(select=wait))
        # A machine that hangs does not end, however long it is waited for.
        for limit in ("PATIENCE_S", "END_S"):
            monkeypatch.setattr(qemu, limit, 0.05)

    return end


KVM_FAILS = 'case "$*" in *"-accel kvm"*) echo "qemu: failed to set MSR" >&2; exit 1;; esac'
"""A part of a script that plays QEMU: the machine has /dev/kvm, and it does not work."""


def tried(name=PATIENT, work="true", access=None):
    with hosts.open(name, access) as host:
        return host.define([Workload.of(work)], [Settings()])


def test_the_command_line_is_what_works(tmp_path):
    wanted = parse("6.1?cpus=3&mem=2G&append=isolcpus=1,2 nosmt")
    words = qemu.command("qemu", wanted, kernel.Kernel("6.1", Path("/k/vmlinuz"), None), Path("/tmp/a,b"), "kvm")
    line = shlex.join(words)
    for part in ("-smp 3", "-m 2048M", "-accel kvm", "-machine q35", "-no-reboot", "-kernel /k/vmlinuz"):
        assert part in line
    assert words[words.index("-append") + 1] == "console=ttyS0 quiet panic=-1 rdinit=/init isolcpus=1,2 nosmt"
    assert "file,id=console,path=/tmp/a,,b/console" in words, "a comma is doubled for QEMU"
    assert [word for word in words if word.startswith("chardev:")] == ["chardev:console", "chardev:agent"], (
        "in this order"
    )
    assert "-netdev" not in words
    more = qemu.command(
        "qemu", wanted, kernel.Kernel("6.1", Path("/k/vmlinuz"), None), Path("/t"), "kvm", ("-net", "x")
    )
    assert more[-6:-4] == ["-net", "x"]
    slow = qemu.command("qemu", wanted, kernel.Kernel("6.1", Path("/k/vmlinuz"), None), Path("/t"), qemu.EMULATED)
    parameters = "console=ttyS0 quiet panic=-1 rdinit=/init no_timer_check tsc=reliable "
    assert slow[slow.index("-append") + 1].startswith(parameters)


@pytest.mark.parametrize(("here", "threads"), [(2, "tcg,thread=single"), (3, "tcg,thread=multi")])
def test_an_emulated_machine_with_more_cpus_than_this_one_takes_turns(here, threads, monkeypatch):
    monkeypatch.setattr(qemu.os, "sched_getaffinity", lambda _: set(range(here)))
    image = kernel.Kernel("6.1", Path("/k/vmlinuz"), None)
    words = qemu.command("qemu", parse("6.1?cpus=3"), image, Path("/t"), qemu.EMULATED)
    assert words[words.index("-accel") + 1] == threads


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            'echo "Kernel panic - not syncing: VFS: Unable to mount root fs" > "$console"',
            "kernel panicked: VFS: Unable",
        ),
        (
            'printf "becalm-init: The module zram cannot be loaded: Invalid argument.\\r\\n" > "$console"\n'
            'echo "Kernel panic - not syncing: x" >> "$console"',
            "did not boot: The module zram cannot be loaded: Invalid argument\\.",
        ),
        ('echo "[1.0] System is deadlocked on memory" > "$console"', "too little memory to boot"),
        (
            'echo "qemu-system-x86_64: cannot set up guest memory" >&2; exit 1',
            "QEMU reports: cannot set up guest memory",
        ),
        (
            'echo "qemu-system-x86_64: error: failed to set MSR.\nqemu: Assertion failed" >&2; exit 1',
            "QEMU reports: failed to set MSR\\. Nothing",
        ),
        ('echo "something odd" > "$console"', "the last line on its console is: something odd"),
        ("exit 3", "its console is empty"),
    ],
)
def test_a_guest_that_does_not_boot_says_why(play, script, says):
    play(script)
    with pytest.raises(MachineError, match=says):
        tried()


def test_a_guest_that_hangs_is_given_up(play, limits, tmp_path):
    play(f'echo "waiting for the disk" > "$console"; touch {tmp_path}/hangs; exec sleep 1000')
    limits((tmp_path / "hangs").exists)
    with pytest.raises(MachineError, match=r"did not boot within 0\.5 s; the last line .* waiting for the disk"):
        tried("guest:6.1?accel=tcg&limit=500ms")


def test_no_qemu_no_kernel_no_user_and_no_tree(play, monkeypatch, tmp_path):
    play("exit")
    with pytest.raises(UsageError, match=r"becalm guest prepare 6\.6"):
        tried("guest:6.6")
    with pytest.raises(MachineError, match="no user 'nobody-of-that-name'"):
        tried(access=Access(user="nobody-of-that-name"))
    with pytest.raises(UsageError, match="--root"):
        tried(access=Access(root="/"))
    (tmp_path / "bin" / qemu.PROGRAM).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(MachineError, match="apt-get install qemu-system-x86"):
        tried()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "x", "6", "1", "aarch64")))
    with pytest.raises(MachineError, match="aarch64"):
        tried()


def test_nothing_can_stay_on_in_a_guest(play):
    play("exit")
    with hosts.open("guest:6.1") as host, pytest.raises(UsageError, match="A guest ends with becalm"):
        host.inner.keep(Settings.of({"swappiness": 1}))
    assert not play.log.exists()


def test_files_that_do_not_fit_are_refused_before_anything_boots(play, tmp_path):
    play("exit")
    (tmp_path / "large").write_bytes(bytes(40 << 20))
    with pytest.raises(UsageError, match=r"needs mem=1[789][0-9]M, not 128M"):
        tried("guest:6.1?mem=128M", f"cat {tmp_path}/large")
    assert not play.log.exists()


def test_kvm_that_does_not_work_is_followed_by_emulation_and_not_tried_again(play):
    play(f"{KVM_FAILS}\nexec {agent_path()} serve")
    with hosts.open("guest:6.1") as host:
        host.facts()
        host.reboot(("nosmt",))
        host.facts()
    accelerators = [line.split(" -accel ")[1].split()[0] for line in play.log.read_text().splitlines()]
    assert accelerators == ["kvm", qemu.EMULATED, qemu.EMULATED]


def test_a_panic_of_the_guest_is_not_tried_again_without_kvm(play):
    play('echo "Kernel panic - not syncing: no init" > "$console"')
    with pytest.raises(MachineError, match="panicked: no init"):
        tried("guest:6.1")
    assert len(play.log.read_text().splitlines()) == 1


def test_the_whole_way_and_one_boot_for_programs_that_are_there(play):
    play(f"echo the firmware says something; exec {agent_path()} serve")
    with hosts.open("guest:6.1?accel=tcg") as host:
        assert not play.log.exists(), "it boots when it is needed"
        workload = Workload.of(["/bin/echo", "hello"], output=Output.KEEP)
        assert host.define([workload], [Settings()]) == ["/bin/echo"]
        rows, texts = runs_and_texts(host)
        assert (rows[0].outcome, texts[0][1]) == ("ok", "hello\n")
        host.define([workload], [Settings(), Settings.of({"nice": 1})])
        assert len(play.log.read_text().splitlines()) == 1
        host.define([Workload.of("/bin/ls /")], [Settings()])
        host.define([workload], [Settings()])
        assert len(play.log.read_text().splitlines()) == 2, "another program, another boot; what was there stays"
        host.reboot(("isolcpus=1",))
        assert host.overhead(1)
        last = play.log.read_text().splitlines()[-1]
        assert "isolcpus=1" in last
        assert host.abilities()[hosts.Ability.MACHINE_SETTINGS]
    host.close()


def test_a_guest_is_not_booted_again_for_files_that_every_guest_has(play):
    play(f"exec {agent_path()} serve")
    with hosts.open("guest:6.1?accel=tcg") as host:
        host.define([Workload.of("/bin/ls /")], [Settings()])
        host.define([Workload.of("/bin/ls /tmp /run /etc/passwd")], [Settings()])
    assert len(play.log.read_text().splitlines()) == 1


# In the background, or the shell would wait for the pipe's end before it heeds the signal.
HANGING = """trap 'trap - TERM; kill 0' TERM; exec 3<&0
{{ {agent} serve | while read -r line; do
while [ -e {hang} ]; do sleep 0.05; done; printf "%s\\n" "$line"; done; }} <&3 & wait"""
"""A script that plays QEMU: the agent's answers pass a copier, which stops while a file is there."""


def test_a_program_may_take_longer_than_the_limit_and_a_guest_that_hangs_meanwhile_is_known(play, limits, tmp_path):
    hang, started, release = (tmp_path / name for name in ("hang", "started", "release"))
    play(HANGING.format(agent=agent_path(), hang=hang))

    def passed():
        # The first limit passes while the program runs, which ends only then.
        if started.exists() and not release.exists():
            release.touch()
            return True
        return hang.exists()

    with hosts.open(PATIENT) as host:
        waiting = f"touch {started}; while [ ! -e {release} ]; do sleep 0.05; done"
        host.define([Workload.of(waiting, shell=True)], [Settings()])
        limits(passed)
        rows = ran(host)
        assert [run.outcome for run in rows] == ["ok"], "it was asked, and lives"
        assert release.exists()
        hang.touch()
        with pytest.raises(MachineError, match=rf"stopped answering for {HANG_LIMIT_S:g} s in the middle of its work"):
            ran(host, (0, 0), first=1)


@pytest.mark.parametrize(
    ("ill", "says"),
    [
        ('echo "Kernel panic - not syncing: no init" > "$console"; exit', "panicked: no init"),
        ("touch hangs; exec sleep 9000", f"did not boot within {HANG_LIMIT_S:g} s"),
        ('echo "System is deadlocked on memory" > "$console"; exit', "too little memory to boot"),
    ],
)
def test_a_boot_that_fails_refuses_its_settings(play, limits, tmp_path, monkeypatch, ill, says):
    monkeypatch.chdir(tmp_path)
    play(f'case "$*" in *idle=poll*) {ill};; esac\nexec {agent_path()} serve')
    with hosts.open(PATIENT) as host:
        host.define([Workload.of("true")], [Settings(), Settings.of({"idle": "poll"})], dangerous=True)
        if "hangs" in ill:
            limits(lambda: (tmp_path / "hangs").exists() and not (tmp_path / "hangs").unlink())
        for _ in range(2):
            with pytest.raises(BootError, match=f"The guest does not start with idle=poll: .*{says}"):
                ran(host, (0, 1))
            assert [run.outcome for run in ran(host)] == ["ok"]
        boots = [line for line in play.log.read_text().splitlines() if "idle=poll" in line]
        assert len(boots) == 1 + ("hangs" not in ill), "it is not tried for ever"


@pytest.mark.parametrize(
    ("name", "before"),
    [("guest:6.1?accel=tcg", ""), ("guest:6.1", KVM_FAILS)],
    ids=["emulated", "kvm does not work"],
)
def test_the_first_boot_of_an_emulated_machine_is_tried_twice(play, tmp_path, name, before):
    panic = 'echo "Kernel panic - not syncing: x" > "$console"; exit'
    play(f"{before}\n[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {panic}; }}\nexec {agent_path()} serve")
    assert tried(name)
    emulated = [line for line in play.log.read_text().splitlines() if f"-accel {qemu.EMULATED}" in line]
    assert len(emulated) == 2


def test_a_panic_that_does_not_come_again_refuses_nothing(play, tmp_path, monkeypatch):
    panic = 'echo "Kernel panic - not syncing: x" > "$console"; exit'
    once = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {panic}; }}"
    play(f'case "$*" in *idle=poll*) {once};; esac\nexec {agent_path()} serve')
    monkeypatch.setattr("becalm.hosts.rebooting.RebootingHost._check", lambda host, part: None)
    with hosts.open("guest:6.1?accel=tcg") as host:
        host.define([Workload.of("true")], [Settings.of({"idle": "poll"})], dangerous=True)
        assert [run.outcome for run in ran(host)] == ["ok"]
        assert len([line for line in play.log.read_text().splitlines() if "idle=poll" in line]) == 2


def test_a_guest_that_ends_under_its_parameters_refuses_them(play, tmp_path, monkeypatch):
    """Its kernel panics while the program runs."""
    play(
        f'case "$*" in *idle=poll*) (while [ ! -e {tmp_path}/runs ]; do sleep 0.05; done\n'
        f'echo "Kernel panic - not syncing: later" > "$console"; kill -9 $$) >&2 & esac\nexec {agent_path()} serve'
    )
    monkeypatch.setattr("becalm.hosts.rebooting.RebootingHost._check", lambda host, part: None)
    with hosts.open("guest:6.1?accel=tcg") as host:
        once = f"test -e {tmp_path}/once || {{ touch {tmp_path}/runs {tmp_path}/once; exec sleep 9000; }}"
        script = Workload.of(once, shell=True)
        host.define([script], [Settings(), Settings.of({"idle": "poll"})], dangerous=True)
        with pytest.raises(BootError, match=r"The guest does not keep running with idle=poll: .* panicked: later"):
            ran(host, (0, 1))
        assert [run.outcome for run in ran(host)] == ["ok"]


def test_a_guest_that_hangs_after_it_has_booted(play, limits, tmp_path):
    hang = tmp_path / "hang"
    play(HANGING.format(agent=agent_path(), hang=hang))
    with hosts.open(PATIENT) as host:
        host.define([Workload.of("true")], [Settings()])
        hang.touch()
        limits(hang.exists)
        with pytest.raises(MachineError, match=rf"stopped answering for {HANG_LIMIT_S:g} s in the middle of its work"):
            host.plan(Settings())
        hang.unlink()


def test_the_archive_is_not_kept_while_the_machine_runs(play, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    play('echo "{}"; exec sleep 1000')
    words = [str(tmp_path / "bin" / qemu.PROGRAM)]
    scratch = tempfile.TemporaryDirectory()
    (Path(scratch.name) / "initramfs").touch()
    link = qemu.boot(words, scratch, HANG_LIMIT_S, HANG_LIMIT_S)
    assert not (Path(scratch.name) / "initramfs").exists()
    assert link.read() == b"{}\n"
    link.close()
    assert not Path(scratch.name).exists()
    assert link.process.returncode is not None


def test_a_guest_that_ends_in_the_middle_is_a_sentence_and_leaves_nothing(play, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    # The agent's machine ends with it: here the workload kills the agent.
    play(f'{agent_path()} serve; echo "Kernel panic - not syncing: Attempted to kill init!" > "$console"')
    with hosts.open("guest:6.1?accel=tcg") as host:
        host.define([Workload.of("kill -9 $PPID", shell=True)], [Settings()])
        with pytest.raises(
            MachineError, match=r"ended with its machine .the guest's kernel panicked: Attempted to kill"
        ):
            ran(host, (0, 0))
    assert list(scratch.iterdir()) == []


def test_a_program_killed_for_want_of_memory_is_reported_after_its_row(play):
    play(f'echo "Out of memory: Killed process 7 (cat) total-vm:9kB" > "$console"; exec {agent_path()} serve')
    with hosts.open("guest:6.1?accel=tcg") as host:
        host.define([Workload.of("kill -9 $$", shell=True)], [Settings()])
        rows = []
        with pytest.raises(WorkloadError, match=r"ran out of memory \(1024 MiB\): .* mem=2048M"):
            rows.extend(runs_of(measure_events(host, (0, 0))))
        assert [run.status for run in rows] == [-9]


def written(name, access=None, define=()):
    """Return the entries of the initramfs that would be booted."""
    with hosts.open(name, access) as host:
        file = io.BytesIO()
        host.inner._write(file)
    return entries(file.getvalue())


def test_the_initramfs_has_the_agent_the_programs_and_their_files(play, tmp_path, monkeypatch):
    play("exit")
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").write_text("x")
    monkeypatch.chdir(tmp_path)
    files = written(f"guest:6.1?modules=zram&files={tmp_path}/tree", Access(user="nobody"))
    assert files["init"][4] == Path(agent_path()).read_bytes()
    assert files["init"][0] & 0o111
    assert files["etc/becalm/modules"][4] == b"/etc/becalm/zsmalloc.ko\n/etc/becalm/zram.ko\n"
    assert files["etc/becalm/zram.ko"][4] == module("zram", "zsmalloc")
    assert files["etc/becalm/serve"][4] == b"--user\n65534\n"
    assert files[f"{str(tmp_path)[1:]}/tree/sub/file"][4] == b"x"
    assert {"proc", "sys", "dev", "dev/console", "tmp", "run", "root", "usr/bin/true"} <= set(files)
    assert b"root:x:0:0:" in files["etc/passwd"][4]
    assert files["etc/passwd"][4].count(b"nobody:") == 1


def test_the_initramfs_is_packed(play, tmp_path):
    # The script keeps what it was given, and ends.
    play(f'while [ "$1" != -initrd ]; do shift; done; cp "$2" {tmp_path}/kept')
    with pytest.raises(MachineError):
        tried()
    assert "init" in entries(gzip.decompress((tmp_path / "kept").read_bytes()))


def test_qemu_ends_when_becalm_is_killed(play, tmp_path, monkeypatch):
    # What a killed becalm leaves there goes with the test.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    play(f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000")
    becalm = os.fork()
    if becalm == 0:
        try:
            tried()
        finally:
            os._exit(1)
    wait_for((tmp_path / "pid").exists, "QEMU has started")
    machine = int((tmp_path / "pid").read_text())
    os.kill(machine, 0)
    os.kill(becalm, signal.SIGKILL)
    os.waitpid(becalm, 0)
    wait_ended(machine)


def test_a_guest_writes_runs_into_a_file_of_ours_where_its_machine_can(play, tmp_path):
    """QEMU has the descriptor; one that does not know the device is started without it."""
    unknown = "qemu: -device ivshmem-plain: 'ivshmem-plain' is not a valid device model name"
    with (tmp_path / "spool").open("w+b") as spool:
        place = f"/proc/self/fd/{spool.fileno()}"
        play(
            f'case "$*" in *mem-path={place}*) echo seen >> {place}; echo "{unknown}" >&2; exit 1;; esac\n'
            f"exec {agent_path()} serve"
        )
        assert tried(access=Access(spool=spool.fileno()))
        assert spool.read() == b"seen\n", "the descriptor is QEMU's, too"
    first, second = play.log.read_text().splitlines()
    assert f"share=on,size={qemu.SPOOL_BYTES},mem-path={place}" in first
    assert "ivshmem" not in second
