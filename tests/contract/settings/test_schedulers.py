"""Settings of the scheduler on machines of several kernels, each a directory: what is found, set, and restored."""

import pytest
from tests.support.laptop import SCHEDULERS, changed, laptop, scheduler, snapshot
from tests.support.talk import Agent

import becalm as api

CFS = {"sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns", "sched_child_runs_first"}
BOTH = {
    "sched_migration_cost_ns", "sched_nr_migrate", "sched_tunable_scaling", "autogroup", "numa_scan_delay_ms",
    "numa_scan_period_min_ms", "numa_scan_period_max_ms", "numa_scan_size_mb", "sched_rt_runtime_us",
    "sched_rr_timeslice_ms", "sched_cfs_bandwidth_slice_us",
}  # fmt: skip
FOUND = {
    "5.10": CFS | BOTH,
    "6.1": CFS | BOTH | {"sched_preempt", "sched_idle_min_granularity_ns"},
    "6.12": BOTH | {"sched_preempt", "sched_base_slice_ns"},
}
"""The settings that each of these kernels has, besides features."""

FEATURES = {
    "5.10": {"gentle_fair_sleepers", "sis_prop", "wa_bias"},
    "6.1": {"gentle_fair_sleepers", "sis_prop", "sis_util", "alt_period", "wa_bias"},
    "6.12": {"run_to_parity", "delay_dequeue", "sis_util", "wa_bias"},
}


@pytest.fixture(params=SCHEDULERS)
def machine(request, tmp_path):
    """A kernel, and a laptop with it."""
    return request.param, with_kernel(tmp_path, request.param)


@pytest.fixture
def newest(tmp_path):
    """A laptop with the newest of these kernels."""
    return with_kernel(tmp_path, "6.12")


def with_kernel(tmp_path, kernel):
    root = laptop(tmp_path / "root")
    scheduler(root, kernel)
    return root


def rows(agent):
    """Return the scheduler's rows by name."""
    result = agent.done("knobs")["knobs"]
    return {row["name"]: row for row in result if row["name"].startswith(("sched_", "autogroup", "numa_scan"))}


def test_scheduler_knobs_of_a_kernel_are_found_and_others_name_a_kernel(machine):
    kernel, root = machine
    with Agent(root) as agent:
        by_name = rows(agent)
    here = {name for name, row in by_name.items() if row["supported"]}
    features = {name.removeprefix("sched_feature_") for name in here if name.startswith("sched_feature_")}
    assert {name for name in here if not name.startswith("sched_feature_")} == FOUND[kernel]
    assert features >= FEATURES[kernel]
    assert not features & set().union(*FEATURES.values()) - FEATURES[kernel]
    for name, row in by_name.items():
        assert row["supported"] or row["reason"].endswith(f"; in reach on --host {row['elsewhere']}"), name
    if kernel == "6.12":
        assert "guest:6.1" in by_name["sched_latency_ns"]["reason"]
    else:
        assert by_name["sched_base_slice_ns"]["elsewhere"] == "guest:6.12"


def test_all_of_them_at_once_are_set_read_back_and_restored_to_the_byte(machine):
    _, root = machine
    before = snapshot(root)
    with Agent(root) as agent:
        wanted = {}
        for name, row in rows(agent).items():
            if row["supported"]:
                domain = row["domain"]
                other = [word for word in domain.get("choices", ()) if word not in (row["value"], "lazy")]
                wanted[name] = other[0] if other else str(domain["low"] + 1)
        agent.done("hold", settings=wanted, dangerous=True)
        assert {name: row["value"] for name, row in rows(agent).items() if name in wanted} == wanted
        assert agent.done("release")["unsettled"] == []
    assert changed(before, snapshot(root)) == {}


def test_features_that_somebody_else_switches_are_theirs(newest):
    """One word of the file is ours, the others are not looked at."""
    path = newest / "sys/kernel/debug/sched/features"
    before = path.read_text()
    with Agent(newest) as agent:
        agent.done("hold", settings={"sched_feature_run_to_parity": "off"})
        assert " NO_RUN_TO_PARITY " in path.read_text()
        path.write_text(path.read_text().replace("NO_HRTICK ", "HRTICK "))
        assert agent.done("release")["unsettled"] == []
    assert path.read_text() == before.replace("NO_HRTICK ", "HRTICK ")


def test_debugfs_that_is_not_mounted_is_reported_with_what_to_do(newest, tmp_path):
    """The settings in /proc/sys, and the program's own slice, remain."""
    (newest / "sys/kernel/debug").rename(tmp_path / "aside")
    with Agent(newest) as agent:
        by_name = rows(agent)
        slice_ns = next(row for row in agent.done("knobs")["knobs"] if row["name"] == "slice_ns")
    assert "mount -t debugfs none /sys/kernel/debug" in by_name["sched_base_slice_ns"]["reason"]
    assert "guest:6.12" in by_name["sched_feature_run_to_parity"]["reason"]
    assert slice_ns["supported"]
    assert by_name["sched_rr_timeslice_ms"]["supported"]


def test_a_value_that_the_kernel_limited_is_reported(becalm, root):
    """The laptop's processors have a highest frequency, and take no higher one for the lowest."""
    with Agent(root) as agent:
        held = agent.done("hold", settings={"frequency_floor": 20_000_000})
        assert any("took 4700000 for 20000000" in remark for remark in held["remarks"])
        places = agent.done("status")["journal"]["places"]
        assert {(place["now"], place["asked"]) for place in places} == {
            ("4700000", "20000000"),
            ("3600000", "20000000"),
        }
        agent.done("release")
        agent.done("define", workloads=[{"argv": ["true"]}], settings=[{"frequency_floor": 20_000_000}])
        clamped = agent.done("measure", first=0, steps=[[0, 0, 0, 0]])["clamped"]
        assert {change["wanted"] for change in clamped} == {"20000000"}
        assert {change["found"] for change in clamped} == {"4700000", "3600000"}
    assert becalm("apply", "--set", "frequency_floor=20000000", root=root).returncode == 0
    assert "4700000 (requested 20000000)" in becalm("status", "--plain", root=root).stdout


def test_files_for_production_have_the_words_of_features_and_the_weight_of_a_unit(newest, home):
    wanted = {"sched_feature_run_to_parity": "off", "sched_feature_next_buddy": "on", "cpu_weight": 250}
    settings = api.export_settings(root=str(newest), settings=wanted)
    text = "\n".join(file.content for file in settings.files)
    for line in ("echo NO_RUN_TO_PARITY > ", "echo RUN_TO_PARITY > ", "echo NEXT_BUDDY > ", "echo NO_NEXT_BUDDY > "):
        assert f"{line}/sys/kernel/debug/sched/features" in text, "put on, and taken off"
    assert "CPUWeight=250" in text
    assert settings.left == ()
