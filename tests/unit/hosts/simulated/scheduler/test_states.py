"""Files of state machines, and of programs that were measured as a whole."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.measured import CpuDemand, share
from becalm.hosts.simulated.scheduler.programs import endless, work_of
from becalm.hosts.simulated.scheduler.states import BY_THE_MESSAGE, ROOM, read

CLIENTS = """
[[task]]
name = "client"
count = 2
nice = 5
steps = ["repeat 3", "compute 50us", "send requests", "receive replies", "sleep 1ms", "end"]

[[task]]
name = "server"
policy = "batch"
slice = "3ms"
start = "1ms"
steps = ["repeat forever", "receive requests", "compute 20us", "send replies", "yield", "end"]

[channel]
requests = 4
"""


def test_a_file_of_state_machines(tmp_path):
    path = tmp_path / "clients.toml"
    path.write_text(CLIENTS)
    workload = read(path)
    assert workload["room"] == [4, ROOM]
    assert workload["drained"] == [BY_THE_MESSAGE] * 2
    path.write_text(CLIENTS.replace("requests = 4", "requests = { room = 4, drained = 1 }"))
    assert read(path)["drained"] == [1, BY_THE_MESSAGE]
    path.write_text(CLIENTS)
    assert workload["programs"][0] == [
        {"repeat": 3}, {"compute": 50_000}, {"send": 0}, {"receive": 1}, {"sleep": 1_000_000}, "end",
    ]  # fmt: skip
    assert [task["name"] for task in workload["tasks"]] == ["client 0", "client 1", "server"]
    server = workload["tasks"][2]
    assert (server["class"], server["slice_ns"], server["start_ns"], server["nice"]) == (
        "batch",
        3_000_000,
        1_000_000,
        0,
    )
    assert workload["channels"] == ["requests", "replies"]
    assert work_of(["clients.toml"], str(tmp_path)) == {"tasks": workload}
    assert endless({"tasks": workload}) == "server"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"compute 50us"', '"computes 50us"', "client: 'computes 50us' is not a step"),
        ("count = 2", "count = 0", "from 1 to a million"),
        ("nice = 5", "nice = 40", "from -20 to 19"),
        ("nice = 5", "colour = 5", "unknown key 'colour'"),
        ('"batch"', '"fifo"', "other, batch or idle"),
        ("requests = 4", "requests = 0", "room for 1 message"),
        ("requests = 4", "requests = { room = 4, drained = 4 }", "drained is a number from 0 to 3, not 4"),
        ("requests = 4", "requests = { rooms = 4 }", "unknown key 'rooms'. Did you mean 'room'"),
        ("[channel]", "[channels]", r"Did you mean 'channel'"),
        ("[[task]]", "[task", "is not TOML"),
        ("compute 50us", "compute -1us", "client: '-1us' is not a duration"),
        ("compute 50us", "compute 1e30s", "client: A duration must be at most 100 years"),
        ("repeat 3", f"repeat {2**62}", "is not a step"),
        ("requests = 4", "requests = 4\n[length]\nwork = ['3us', '1us']", "from the smallest to the largest"),
        ("requests = 4", "requests = 4\n[length]\nwork = 5", "a time or a list"),
        ("requests = 4", "requests = 4\n[[measured]]\nname = 'x'", "`cpus = 2` is"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path, old, new, why):
    path = tmp_path / "clients.toml"
    path.write_text(CLIENTS.replace(old, new))
    with pytest.raises(UsageError, match=why):
        read(path)


def test_a_file_without_tasks_is_refused(tmp_path):
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(UsageError, match=r"no \[\[task\]\]"):
        read(tmp_path / "empty.toml")


MEASURED = """
cpus = 2

[[measured]]
name = "groups"
solo = "1s"
busy = 2.0
threads = 1
count = 20
alongside = { groups = 0.528 }

[[measured]]
name = "quiet"
solo = ["1s", "3s"]
"""


def test_speeds_follow_from_what_was_measured(tmp_path):
    path = tmp_path / "measured.toml"
    path.write_text(MEASURED)
    workload = read(path)
    groups, quiet = workload["kinds"]
    # Alone 1/2 a tick of each of two CPUs, next to its like Deg of the one CPU that it has (3.2).
    assert groups == {"alone": 0.5, "alongside": [0.528, pytest.approx(0.5)]}
    assert quiet == {"alone": 1.0, "alongside": [pytest.approx(1.0), pytest.approx(1.0)]}
    assert len(workload["tasks"]) == 21
    assert workload["tasks"][20] == {"name": "quiet, thread 0", "program": 20}
    assert workload["lengths"] == [[10**9], [10**9, 3 * 10**9]]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("cpus = 2", "cpus = 0", "number of CPUs"),
        ("busy = 2.0", "busy = 3.0", "busy is a number from 0.01 to 2, not 3.0"),
        ("groups = 0.528", "others = 0.5", "for programs of this file"),
        ("groups = 0.528", "groups = 0", "alongside groups is a number"),
        ('name = "quiet"', 'name = "groups"', "its own name"),
        ("threads = 1", "threads = 0", "threads is a whole number"),
        ('solo = "1s"', "solo = 1", "a time or a list"),
        ('solo = "1s"', 'sole = "1s"', "unknown key 'sole'"),
        ("count = 20", "count = true", "count is a whole number"),
    ],
)
def test_a_measured_program_that_is_wrong_says_where(tmp_path, old, new, why):
    path = tmp_path / "measured.toml"
    path.write_text(MEASURED.replace(old, new))
    with pytest.raises(UsageError, match=why):
        read(path)


@pytest.mark.parametrize(
    ("own", "other", "cpus", "wanted"),
    [
        # By hand: all have what they ask for; equal threads share; who asks for less has all of it.
        ((0.25, 1), (0.25, 1), 2, 0.25),
        ((2.0, 2), (2.0, 2), 2, 1.0),
        ((2.0, 40), (2.0, 40), 2, 1.0),
        ((0.25, 1), (1.0, 1), 1, 0.25),
        ((1.0, 1), (0.25, 1), 1, 0.75),
        ((1.0, 1), (4.0, 4), 4, 0.8),
    ],
)
def test_shares_of_a_fair_scheduler(own, other, cpus, wanted):
    assert share(CpuDemand(*own), CpuDemand(*other), cpus) == pytest.approx(wanted)


def test_a_program_that_keeps_less_than_a_cpu_busy_waits_for_the_rest(tmp_path):
    path = tmp_path / "io.toml"
    path.write_text('cpus = 2\n[[measured]]\nname = "io"\nsolo = "1s"\nbusy = 0.25\nburst = "2ms"\n')
    work = read(path)
    assert work["waits"] == [{"running": 0.25, "burst_ns": 2_000_000}]
    assert work["kinds"] == [{"alone": 4.0, "alongside": [4.0]}]
    assert len(work["tasks"]) == 1
    path.write_text(path.read_text().replace("busy = 0.25", "busy = 1.3"))
    assert len(read(path)["tasks"]) == 2, "one thread cannot keep 1.3 CPUs busy"
