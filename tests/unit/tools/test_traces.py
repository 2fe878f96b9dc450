"""Traces of becalm and its tests are told apart from what others change on the machine meanwhile."""

import json
import os

import pytest
import traces
from traces import Excuses, Journal

PRIVATE = "/tmp/bt-private"
SWAPPINESS = ("setting", "/proc/sys/vm/swappiness")


@pytest.fixture(autouse=True)
def nobody_else(tmp_path, monkeypatch):
    """No journal, no process and no list of interrupts but those of a test."""
    for name in ("JOURNAL", "NOTE", "INTERRUPTS"):
        monkeypatch.setattr(traces, name, str(tmp_path / name.lower()))
    monkeypatch.setattr(traces, "is_older", lambda pid, path: False)
    monkeypatch.setattr(traces, "in_use", lambda path: False)


def compared(before, after, excuses=None):
    return traces.traces(before, after, PRIVATE, excuses or Excuses())


def test_differences_are_sentences_and_tasks_may_come_and_go():
    before = {
        ("file", "/boot/grub/custom.cfg"): "x",
        SWAPPINESS: "60",
        ("task", "1 (a) started 5"): "CPUs 0-1",
        ("task", "2 (b) started 5"): "CPUs 0",
    }
    after = {
        ("swap", "/dev/zram0"): "-2",
        SWAPPINESS: "59",
        ("task", "1 (a) started 5"): "CPUs 0",
        ("task", "3 (c) started 9"): "CPUs 0",
    }
    sentences = [
        "file /boot/grub/custom.cfg: has gone",
        "setting /proc/sys/vm/swappiness: was '60', is '59'",
        "swap /dev/zram0: was not there before",
        "task 1 (a) started 5: was 'CPUs 0-1', is 'CPUs 0'",
    ]
    assert compared(before, after) == (sentences, [])
    assert compared(before, before) == ([], [])


CHANGED = [
    ("setting", "/proc/sys/kernel/numa_balancing"),
    ("setting", "/proc/sys/kernel/sched_rt_runtime_us"),
    ("setting", "/proc/sys/vm/stat_interval"),
    ("setting", "/proc/irq/25/smp_affinity"),
    ("setting", "/proc/irq/default_smp_affinity"),
    ("setting", "/sys/devices/system/cpu/cpu1/online"),
    ("setting", "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"),
    ("setting", "/sys/devices/system/cpu/cpu1/cpuidle/state2/disable"),
    ("setting", "/sys/devices/virtual/workqueue/writeback/cpumask"),
    ("setting", "/sys/kernel/debug/sched/features"),
    ("setting", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("setting", "/sys/fs/cgroup/cpuset/docker/one/cpuset.cpus"),
    ("setting", "/sys/block/zram0/disksize"),
    ("file", "/boot/efi/EFI/debian/grubenv"),
    ("file", "/etc/systemd/system/becalm-restore.service"),
    ("file", "/var/lib/becalm/journal"),
    ("service", "5 (tuned) started 500"),
    ("swap", "/swapfile"),
]
NEW = [
    ("file", "/etc/sudoers.d/becalm-test"),
    ("file", "/etc/grub.d/09_becalm"),
    ("file", "/usr/local/bin/becalm"),
    ("file", "/var/lib/becalm/journal"),
    ("file", "~/.local/share/becalm"),
    ("file", "~/becalm"),
    ("file", "~/.cache/becalm/cluster-x"),
    ("file", "/dev/shm/becalm-spool-0123456789abcdef"),
    ("file", "/tmp/becalm-ssh-1"),
    ("file", "/var/tmp/.becalm-load-123"),
    ("control group", "/sys/fs/cgroup/becalm-isolated"),
    ("control group", "/sys/fs/cgroup/a/b.scope/becalm-4194305"),
    ("control group", "/sys/fs/cgroup/memory/becalm-load-12"),
    ("control group", "/sys/fs/cgroup/cpuset/test-last"),
    ("mount", "/mnt/becalm"),
    ("mount", f"{PRIVATE}/pytest-of-root/a"),
    ("interface", "becalm0"),
    ("swap", f"{PRIVATE}/a swap file"),
    ("setting", "/sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082"),
]
OTHERS = [
    ("setting", "/proc/sys/kernel/hostname", "a", "b"),
    ("setting", "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps", "1", "2"),
    ("setting", "/proc/sys/kernel/sched_schedstats", "0", "1"),
    ("setting", "/proc/sys/kernel/perf_event_max_sample_rate", "100000", "79750"),
    ("setting", "/proc/sys/vm/overcommit_memory", "0", "1"),
    ("setting", "/sys/block/vda/queue/scheduler", "[none] bfq", "none [bfq]"),
    ("setting", "/sys/fs/cgroup/cpuset/docker/cpuset.cpus", "0", None),
    ("control group", "/sys/fs/cgroup/docker/becalming", None, ""),
    ("control group", "/sys/fs/cgroup/becalm-12", "", None),
    ("control group", "/sys/fs/cgroup/cpuset/test-every", None, ""),
    ("file", "/boot/grub/grub.cfg", "x", "y"),
    ("file", "/etc/passwd", "x", "y"),
    ("file", "/tmp/tmp.abc", None, ""),
    ("file", "/tmp/becalm-tests-home-x", None, ""),
    ("file", "/dev/shm/becalm-spool-1", "", None),
    ("file", "/var/lib/becalm/journal", "x", None),
    ("file", "~/.cache/becalm/kernels", None, ""),
    ("mount", "/mnt", None, "tmpfs"),
    ("interface", "veth12", None, ""),
    ("swap", "/swapfile2", None, "-2"),
]


@pytest.mark.parametrize("key", CHANGED, ids=lambda key: key[1])
def test_a_change_of_what_we_write_is_ours(key):
    ours, others = compared({key: "a"}, {key: "b"})
    assert (ours, others) == ([f"{key[0]} {key[1]}: was 'a', is 'b'"], [])


@pytest.mark.parametrize(("before", "after"), [("100000", "1001"), ("79750", "100000")])
def test_a_sample_rate_that_the_kernel_does_not_lower_to_is_ours(before, after):
    key = ("setting", "/proc/sys/kernel/perf_event_max_sample_rate")
    ours, others = compared({key: before}, {key: after})
    assert (len(ours), others) == (1, [])


@pytest.mark.parametrize("key", NEW, ids=lambda key: key[1])
def test_something_new_under_a_name_that_we_make_is_ours(key):
    assert compared({}, {key: ""}) == ([f"{key[0]} {key[1]}: was not there before"], [])


@pytest.mark.parametrize(("kind", "name", "before", "after"), OTHERS, ids=lambda value: str(value))
def test_everything_else_is_of_others(kind, name, before, after):
    snapshots = [{} if value is None else {(kind, name): value} for value in (before, after)]
    ours, others = compared(*snapshots)
    assert ours == []
    assert others[0].startswith(f"{kind} {name}: ")


def test_settings_that_point_into_the_private_directory_are_ours():
    key = ("setting", "/sys/block/loop0/loop/backing_file")
    assert compared({}, {key: f"{PRIVATE}/disk"})[0] == [f"setting {key[1]}: was not there before"]
    assert compared({key: f"{PRIVATE}/disk"}, {})[0] == []


@pytest.mark.parametrize("kind", ["control group", "file"])
def test_files_of_an_older_process_belong_to_another_becalm(kind, monkeypatch):
    name = "/dev/shm/becalm-12" if kind == "file" else "/sys/fs/cgroup/becalm-12"
    monkeypatch.setattr(traces, "is_older", lambda pid, path: (pid, path) == (12, name))
    assert compared({}, {(kind, name): ""}) == ([], [f"{kind} {name}: was not there before"])
    assert compared({}, {(kind, f"{name}3"): ""})[1] == []


@pytest.mark.parametrize("name", ["/var/lib/becalm/journal", "/var/lib/becalm/journal.title"])
def test_the_journal_is_of_another_becalm_that_has_it_open(name, monkeypatch):
    assert compared({}, {("file", name): ""})[1] == []
    monkeypatch.setattr(traces, "in_use", lambda path: path == traces.JOURNAL)
    assert compared({}, {("file", name): ""})[0] == []


@pytest.mark.parametrize("name", ["/dev/shm/becalm-spool-1", "/tmp/becalm-ssh-x"])
def test_a_file_that_is_still_open_is_of_another_becalm(name, monkeypatch):
    monkeypatch.setattr(traces, "in_use", lambda path: path == name)
    assert compared({}, {("file", name): ""})[0] == []
    assert compared({}, {("file", f"{name}2"): ""})[1] == []


def test_a_file_of_the_system_is_ours_whoever_has_it_open(monkeypatch):
    monkeypatch.setattr(traces, "in_use", lambda path: True)
    assert compared({}, {("file", "/etc/sudoers.d/becalm-test"): ""})[1] == []


LISTED = """\
0a {"irq":25,"device":"ttyS0","was":"1","mask":"3","why":"waiting","boot":"b"}
0b {"irq":26,"device":"disk","was":"1","mask":"3","why":"silent","boot":"b"}
0c {"irq":27,"device":"cut
"""
MASK = "/proc/irq/{}/smp_affinity"


def test_a_mask_that_an_earlier_becalm_restores_is_excused(tmp_path):
    """Otherwise a run fails that begins before an interrupt has fired which a study moved."""
    assert traces.returning() == {}
    (tmp_path / "interrupts").write_text(LISTED)
    excuses = Excuses.before()
    assert traces.returning() == {("setting", MASK.format(25)): "3"}
    # What the list holds afterwards does not matter.
    (tmp_path / "interrupts").unlink()
    before = {("setting", MASK.format(irq)): "2" for irq in (25, 26)}
    assert compared(before, before, excuses) == ([], [])
    assert compared(before, before | {("setting", MASK.format(25)): "3"}, excuses)[0] == []
    after = {("setting", MASK.format(25)): "1", ("setting", MASK.format(26)): "3"}
    assert compared(before, after, excuses)[0] == [
        f"setting {MASK.format(25)}: was '2', is '1'",
        f"setting {MASK.format(26)}: was '2', is '3'",
    ]


def write_journal(path, original, *values):
    place = {"kind": "file", "path": SWAPPINESS[1]}
    records = [
        {"record": "begin", "boot": "b", "becalm": "1", "user": "ada", "pid": 7, "at": 1},
        {
            "record": "place",
            "index": 0,
            "knob": "swappiness",
            "place": place,
            "original": original,
            "side_effect": False,
        },
        {"record": "place", "index": 1, "knob": "swap", "place": {"kind": "swap", "area": "/x"}, "original": "-2"},
        *({"record": "ours", "index": 0, "value": value} for value in values),
        {"record": "ours", "index": 1, "value": "off"},
        {"record": "settled"},
    ]
    path.write_text("".join(f"0a {json.dumps(record)}\n" for record in records) + "0b []\n0c {\n")


def test_the_journal_is_read_as_becalm_writes_it(tmp_path):
    assert traces.journal() == Journal()
    write_journal(tmp_path / "journal", "60", "10", "11")
    assert traces.journal() == Journal({SWAPPINESS[1]: "60"}, {SWAPPINESS[1]: ["10", "11"]})


def test_a_setting_that_another_becalm_had_applied_may_be_restored(tmp_path):
    write_journal(tmp_path / "journal", "60", "10")
    excuses = Excuses.before()
    (tmp_path / "journal").unlink()
    assert compared({SWAPPINESS: "10"}, {SWAPPINESS: "60"}, excuses.after())[0] == []
    assert compared({SWAPPINESS: "10"}, {SWAPPINESS: "61"}, excuses.after())[1] == []


def test_a_setting_that_another_becalm_has_applied_is_not_ours(tmp_path, monkeypatch):
    write_journal(tmp_path / "journal", "60", "10")
    after = {SWAPPINESS: "10"}
    # Left behind: its agent has ended.
    assert compared({SWAPPINESS: "60"}, after, Excuses().after())[1] == []
    monkeypatch.setattr(traces, "in_use", lambda path: path == str(tmp_path / "journal"))
    excuses = Excuses().after()
    assert compared({SWAPPINESS: "60"}, after, excuses)[0] == []
    assert compared({SWAPPINESS: "60"}, {SWAPPINESS: "12"}, excuses)[1] == [], "not a value of its own"
    assert compared({SWAPPINESS: "59"}, after, excuses)[1] == [], "it will restore what we have left"


@pytest.mark.parametrize("file", ["journal", "note"])
def test_a_setting_that_is_in_no_row_is_ours_when_the_journal_or_the_note_names_it(tmp_path, file):
    before, after = ({("setting", f"/proc/sys/kernel/{name}"): value for name in ("new", "newer")} for value in "ab")
    assert compared(before, after)[0] == []
    (tmp_path / file).write_text("knob: /proc/sys/kernel/new should be 1 again, but holds 2.")
    assert compared(before, after)[0] == ["setting /proc/sys/kernel/new: was 'a', is 'b'"]


@pytest.mark.parametrize(
    ("text", "value", "agrees"),
    [("60", "60", True), ("always [madvise] never", "madvise", True), ("always [madvise] never", "never", False)],
)
def test_a_text_means_its_value_or_the_one_in_brackets(text, value, agrees):
    assert traces.agree(text, value) == agrees


def test_every_row_is_needed_and_every_kind_is_known():
    kinds = {"setting", "swap", "service", "task", "file", "control group", "mount", "interface"}
    assert {row.kind for row in traces.OURS} == kinds
    patterns = [(row.kind, row.pattern, *row.differences) for row in traces.OURS]
    assert len(set(patterns)) == len(patterns)


def test_this_process_is_older_than_what_it_makes(tmp_path, monkeypatch):
    monkeypatch.undo()
    assert traces.is_older(os.getpid(), str(tmp_path))
    assert not traces.is_older(2**22 + 1, str(tmp_path)), "there is no such process"
    assert not traces.is_older(os.getpid(), "/proc/version/none")


def test_a_file_is_in_use_as_long_as_it_or_something_in_it_is_open(tmp_path, monkeypatch):
    monkeypatch.undo()
    path = tmp_path / "file"
    with path.open("w"):
        assert traces.in_use(str(path))
        assert traces.in_use(str(tmp_path))
        assert not traces.in_use(f"{tmp_path}/fil")
    assert not traces.in_use(str(tmp_path))
