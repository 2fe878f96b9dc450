"""The victims of bench/kills.py, and the counts of it and of bench/power_cuts.py."""

import random

import pytest

import campaign
import fill
import kill_victims
import kills
import power_cuts


@pytest.fixture
def seen():
    return kill_victims.Seen(1, {"agent": [2], "guard": [3], "workload": [4, 5]})


@pytest.mark.parametrize(
    ("victim", "pids"),
    [("front", [1]), ("agent", [2]), ("guard", [3]), ("spawner", []), ("workload", [4, 5])],
)
def test_a_role_is_its_processes(seen, victim, pids):
    assert kill_victims.VICTIMS[victim](seen, random.Random(1)) == pids


def test_everything_is_each_process_once(seen):
    assert sorted(kill_victims.VICTIMS["everything"](seen, random.Random(1))) == [1, 2, 3, 4, 5]


def test_a_pair_is_all_processes_of_two_roles(seen):
    roles = [{1}, {2}, {3}, {4, 5}]
    for seed in range(20):
        pids = set(kill_victims.VICTIMS["pair"](seen, random.Random(seed)))
        assert sum(role <= pids for role in roles) == 2
        assert len(pids) == sum(len(role) for role in roles if role <= pids)


def record(**values):
    usual = {
        "victim": "agent",
        "killed": 1,
        "on": True,
        "back": "by itself",
        "hang": False,
        "defect": False,
        "listed": 0,
    }
    return {**usual, **values}


def test_kills_are_counted_by_victim_and_by_what_brought_the_machine_back():
    records = [
        record(),
        record(back="by one reset", verb="apply"),
        record(victim="front", on=False),
        record(victim="front", back="not by one reset", hang=True),
        record(victim="guard", killed=0),
    ]
    lines = kills.summary(records).splitlines()
    assert "| agent | 2 | 2 | 1 | 1 | 0 | 0 |" in lines
    assert "| front | 2 | 1 | 1 | 0 | 1 | 1 |" in lines
    assert "| guard | 0 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert "| all | 4 | 3 | 2 | 1 | 1 | 1 |" in lines
    assert lines[-1].startswith("1 of those by one `reset` are `apply`")
    assert "Not back by one `reset`: 1 of 4: 25.0 %" in lines[-1]


def test_power_cuts_are_counted_without_the_first_boot():
    records = [
        {"kind": "first boot", "journal": False, "left": False, "values": {}},
        {"kind": "image", "journal": True, "left": False, "differing": {}},
        {"kind": "image", "journal": False, "left": True, "differing": {}},
        {"kind": "boot", "failed": "The guest did not boot."},
    ]
    lines = power_cuts.summary(records).splitlines()
    assert "| the disk at a moment | 2 | 1 | 0 | 0 | 1 |" in lines
    assert "| QEMU killed, booted again | 1 | 0 | 1 | 0 | 0 |" in lines
    assert lines[-1].startswith("Not as after a fresh start: 2 of 3")


def test_a_user_has_the_helper_for_a_victim_and_settings_by_sudo():
    root, user = kills.Person(), kills.Person("nobody")
    assert set(user.victims) - set(root.victims) == {"helper"}
    assert "tune" in root.verbs
    assert root.words(["run", "--", "true"]) == ["run", "--", "true"]
    assert user.words(["run", "--", "true"]) == ["run", "--sudo", "--", "true"]


def test_kills_by_a_user_fill_a_block_of_their_own(tmp_path):
    result = {"command": "python bench/kills.py --user nobody", "machine": campaign.machine(), "records": []}
    campaign.save(tmp_path / "kills_by_user.json", result)
    (body,) = fill.blocks("kills_by_user", tmp_path / "kills_by_user.json").values()
    assert "--user nobody" in body
