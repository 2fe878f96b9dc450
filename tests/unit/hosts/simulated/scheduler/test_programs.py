"""Command lines and files as what the simulator runs."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.programs import ROOM, read, work_of


def test_hackbench_by_its_own_options():
    assert work_of(["hackbench"]) == {"hackbench": {}}
    words = ["/usr/bin/hackbench", "-g20", "--loops=1000", "-f", "10", "-T", "-p"]
    assert work_of(words) == {"hackbench": {"groups": 20, "loops": 1000, "fan": 10}}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "no program"),
        (["hackbench", "-x"], "no option '-x'"),
        (["hackbench", "-g", "many"], "above 0, not 'many'"),
        (["hackbench", "-l"], "above 0, not ''"),
        (["gzip", "-9"], "runs no program 'gzip'"),
        (["none.toml"], "No such file"),
    ],
)
def test_what_is_not_known_is_refused(words, why):
    with pytest.raises(UsageError, match=why):
        work_of(words)


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
    made = read(path)
    assert made["room"] == [4, ROOM]
    assert made["programs"][0] == [
        {"repeat": 3}, {"compute": 50_000}, {"send": 0}, {"receive": 1}, {"sleep": 1_000_000}, "end",
    ]  # fmt: skip
    assert [each["name"] for each in made["tasks"]] == ["client 0", "client 1", "server"]
    server = made["tasks"][2]
    assert (server["class"], server["slice_ns"], server["start_ns"], server["nice"]) == (
        "batch",
        3_000_000,
        1_000_000,
        0,
    )
    assert work_of(["clients.toml"], str(tmp_path)) == {"tasks": made}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"compute 50us"', '"computes 50us"', "client: 'computes 50us' is no step"),
        ("count = 2", "count = 0", "from 1 to a million"),
        ("nice = 5", "nice = 40", "from -20 to 19"),
        ("nice = 5", "colour = 5", "has 'colour'"),
        ('"batch"', '"fifo"', "other, batch or idle"),
        ("requests = 4", "requests = 0", "room for 1 message"),
        ("[channel]", "[channels]", r"has \[channels\]"),
        ("[[task]]", "[task", "is no TOML"),
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
