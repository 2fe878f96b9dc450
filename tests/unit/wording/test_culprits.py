"""Sentences on who caused the waits of programs."""

from becalm.wording import culprits

WAITS = {
    "runs": 10, "wall_ns": 1e9, "lost_ns": 5e8, "others_ns": 4e8, "own_ns": 0.0, "quota_ns": 5e7,
    "hypervisor_ns": 5e7, "unknown_ns": 0.0, "culprits": [], "suspects": None, "cpus": 2, "quota_cpus": 0.5,
    "quotas": [], "several": False, "scope": "tree", "blocks": 3,
}  # fmt: skip

HOG = {
    "level": "process", "name": "rsync", "pid": 412, "group": "backup.service", "count": 1, "low": 0.6, "high": 0.9,
}  # fmt: skip


def test_all_four_are_said_with_who_and_how_much():
    assert culprits.waiting("gzip", {**WAITS, "culprits": [HOG]}) == (
        "gzip waited 50 % of the time for a CPU (50.00 ms a run): others on this machine 80 % (rsync (412) 60 % to "
        "90 %), the program itself 0 %, a quota (0.5 of 2 CPUs) 10 %, the hypervisor 10 %."
    )


def test_others_without_a_name_have_the_reason():
    def words(**more):
        return culprits.waiting("", {**WAITS, **more})

    assert words().startswith("The programs waited ")
    assert "nobody in particular" in words()
    assert "who was not recorded" in words(blocks=0)
    suspects = {"names": ["sh (1)", "sh (2)"], "low": 0.7}
    assert "(sh (1) and sh (2) together at least 70 %, how much each is not known)" in words(suspects=suspects)
    assert "others on this machine 2 %," in words(others_ns=1e7)
    assert "no quota" in words(quota_cpus=None, quota_ns=0)
    assert "a quota 10 %" in words(quota_cpus=None)
    assert "either others or the program itself 20 %" in words(unknown_ns=1e8)
    assert "its first thread" in words(several=True, scope="leader")


def test_quotas_that_held_back_are_named_with_their_periods():
    quotas = [
        {"group": "/user.slice/x", "cpus": 0.5, "periods": 40, "throttled": 12, "throttled_ns": 5e7},
        {"group": "/user.slice", "cpus": 1.5, "periods": 40, "throttled": 0, "throttled_ns": 0},
    ]
    expected = "a quota (throttled in 12 of 40 periods by /user.slice/x, which allows 0.5 of 2 CPUs) 10 %, the hyp"
    assert expected in culprits.waiting("", {**WAITS, "quotas": quotas})
    assert "which allows 0.5) 10 %" in culprits.waiting("", {**WAITS, "quotas": quotas, "cpus": None})
    assert "a quota (0.5 of 2 CPUs) 10 %" in culprits.waiting("", {**WAITS, "quotas": quotas[1:]})


def test_waits_for_disks_have_who_moved_the_bytes():
    waits = {
        "runs": 10, "wall_ns": 1e9, "lost_ns": 5e8, "own_bytes": 2, "disk_bytes": 100, "culprits": [HOG],
        "suspects": None, "unread": 0, "disks": 1, "blocks": 10,
    }  # fmt: skip
    assert culprits.disk_waiting("gzip", waits) == (
        "gzip waited 50 % of the time for disks (50.00 ms a run); others moved the larger part of the bytes, the "
        "program 2 %: caused by rsync (412) 60 % to 90 %."
    )

    def words(**more):
        return culprits.disk_waiting("", {**waits, "culprits": [], **more})

    assert words().startswith("The programs waited ")
    assert words().endswith("nobody is known to have caused a fifth of it.")
    assert words(unread=3).endswith("since the traffic of some processes may not be read.")
    assert "cp (1) and cp (2) together at least 70 %" in words(suspects={"names": ["cp (1)", "cp (2)"], "low": 0.7})
    assert ", and 2 more." in words(culprits=[HOG] * 5)


JAVA = {"level": "process", "name": "java", "pid": 7, "group": "", "count": 1, "size_bytes": 900 << 20, "share": 0.818}


def test_waits_for_memory_have_who_grew():
    waits = {
        "runs": 10, "wall_ns": 1e9, "lost_ns": 5e8, "own_bytes": 200 << 20, "grown_bytes": 900 << 20,
        "swapped_bytes": 50 << 20, "growers": [JAVA], "blocks": 3,
    }  # fmt: skip
    assert culprits.memory_waiting("gzip", waits) == (
        "gzip waited 50 % of the time for memory (50.00 ms a run); meanwhile the memory of others grew by 900.0 MiB "
        "(java (7) 900.0 MiB), and 50.0 MiB were swapped out."
    )
    assert culprits.memory_waiting("", {**waits, "growers": [], "swapped_bytes": None}).endswith("grew by 900.0 MiB.")


def test_use_of_the_network_has_who_moved_the_bytes():
    use = {
        "runs": 1, "wall_ns": 1e9, "slept_ns": 4e8, "interval_ns": 2e9, "own_bytes": 10 << 20,
        "others_bytes": 190 << 20, "movers": [{**JAVA, "name": "rsync", "share": 0.9}], "blocks": 3,
    }  # fmt: skip
    assert culprits.network_use("curl", use) == (
        "The network carried 100.0 MiB/s, of which others moved 95 % (rsync (7) 90 %), while curl slept 40 % of the "
        "time."
    )
    assert "while the programs slept" in culprits.network_use("", use)


def test_several_processes_and_groups_have_their_names():
    assert culprits.culprit({**HOG, "pid": None, "count": 12, "level": "name"}) == "rsync (12 processes)"
    assert culprits.culprit({**HOG, "pid": None, "level": "name"}) == "rsync (1 process)"
    assert culprits.culprit({**HOG, "level": "group"}) == "control group backup.service"
    assert culprits.charged({**HOG, "low": 0.9}) == "rsync (412) 90 %"
    named = culprits.waiting("", {**WAITS, "culprits": [HOG] * 5})
    assert ", and 2 more)" in named
