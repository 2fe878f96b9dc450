"""The benches' conclusions from trials, on trials that are made up."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aa
import campaign
import discriminate
import overhead
import scale
import simulate
import simulate_real
import simulate_real_report
import simulate_real_settings
import startup
import tools

MACHINE = campaign.machine()
VERSIONS = {"becalm": "0.1.0", "hyperfine": "1.15.0", "pyperf": "2.10.0"}


def test_every_trial_is_scheduled_once_in_an_order_the_seed_decides() -> None:
    plan = discriminate.schedule([0.0, 0.01], 3, 5, seed=1)
    assert sorted(plan) == [(0.0, i) for i in range(5)] + [(0.01, i) for i in range(3)]
    assert plan == discriminate.schedule([0.0, 0.01], 3, 5, seed=1)
    assert plan != discriminate.schedule([0.0, 0.01], 3, 5, seed=2)


def made_up(difference: float, index: int, flipped: bool, readings: dict[str, tuple[int, float]]) -> dict[str, Any]:
    """Return a trial in which each reading answered and estimated as given."""
    used = {
        name.split(",")[0]: {"readings": {name: {"answer": a, "estimate": e}}, "wall_s": 2.0, "runs": 40}
        for name, (a, e) in readings.items()
    }
    return {"difference": difference, "index": index, "flipped": flipped, "tools": used}


def test_answers_are_judged_with_the_order_of_the_programs_in_mind() -> None:
    faster = 1 / 1.01 - 1
    records = [
        made_up(0.01, 0, False, {"becalm": (1, 0.01)}),
        made_up(0.01, 1, True, {"becalm": (-1, faster)}),
        made_up(0.01, 2, True, {"becalm": (1, 0.01)}),
        made_up(0.01, 3, False, {"becalm": (0, 0.01)}),
    ]
    (row,) = discriminate.summarize(records)
    assert (row["trials"], row["right"], row["wrong"]) == (4, 2, 1)
    assert row["median_error"] == pytest.approx(0.0, abs=1e-12)


def test_at_no_difference_every_call_is_a_false_alarm() -> None:
    records = [made_up(0.0, i, bool(i % 2), {"becalm": (answer, 0.0)}) for i, answer in enumerate((0, 1, -1, 0, 0))]
    (row,) = discriminate.summarize(records)
    assert (row["right"], row["wrong"]) == (3, 2)


def test_the_ratio_of_standard_errors_and_its_interval() -> None:
    errors = np.random.default_rng(1).normal(size=40) / 1000
    records = [
        made_up(0.0, i, False, {"becalm": (0, math.expm1(e)), "hyperfine, Welch": (0, math.expm1(10 * e))})
        for i, e in enumerate(errors)
    ]
    rows = {row["reading"]: row for row in discriminate.summarize(records)}
    assert rows["becalm"]["ratio"] == pytest.approx((10, 10, 10))
    assert rows["becalm"]["robust_ratio"] == pytest.approx((10, 10, 10))
    assert rows["becalm"]["spread"] == pytest.approx(np.std(errors, ddof=1))
    assert "ratio" not in rows["hyperfine, Welch"]
    assert any("10.0 (10.0 to 10.0) times as large, wanted 10: met" in s for s in discriminate.judged(rows.values()))


def test_the_robust_spread_ignores_a_burst_and_equals_sd_for_normal_errors() -> None:
    errors = np.random.default_rng(2).normal(size=20_000)
    assert discriminate.robust_spread(errors) == pytest.approx(1.0, abs=0.03)
    errors[:50] = 1e6
    assert discriminate.robust_spread(errors) == pytest.approx(1.0, abs=0.03)


def test_the_report_of_discriminate_has_a_row_for_each_reading() -> None:
    records = [
        made_up(d, i, False, {"becalm": (1, d + i / 1e4), "hyperfine, Welch": (0, d - i / 1e3)})
        for d in (0.0, 0.003)
        for i in range(4)
    ]
    config = {"budget": 4, "budget_zero": 2, "steps": 1000, "startup_share": 0.02, "seed": 1, "versions": VERSIONS}
    text = discriminate.report({"config": config, "machine": MACHINE, "rows": discriminate.summarize(records)})
    assert text.count("\n| 0.3 % |") == 4
    assert "4 of 4: 100.0 % (39.8 to 100.0 %)" in text


def test_the_report_says_what_auto_chose_and_the_summary_is_short() -> None:
    readings = {"becalm": (1, 0.01), "becalm, auto": (1, 0.01), "hyperfine, Welch": (0, 0.02)}
    records = [made_up(d, i, False, readings) for d in (0.0, 0.01) for i in range(3)]
    for place, record in enumerate(records):
        chosen = "turns (slowed)" if place == 0 else "at once"
        record["tools"] = {
            name: {"readings": {name: {"answer": answer, "estimate": estimate}}, "wall_s": 2.0, "runs": 40}
            for name, (answer, estimate) in readings.items()
        }
        record["tools"]["becalm, auto"]["chosen"] = chosen
    config = {"budget": 4, "budget_zero": 2, "steps": 1000, "startup_share": 0.02, "seed": 1, "versions": VERSIONS}
    result = {"config": config, "machine": MACHINE, "rows": discriminate.summarize(records)}
    report = discriminate.report(result)
    assert "- 0.0 %: at once in 2, turns (slowed) in 1." in report
    assert "- 1.0 %: at once in 3." in report
    lines = discriminate.summary(result).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| becalm", "| becalm, auto", "| hyperfine, Welch"]
    assert "3 of 3: 100.0 %" in lines[2]
    assert len([line for line in discriminate.judged(result["rows"]) if line.startswith("becalm, auto, ")]) == 2


def test_pairs_are_judged_as_tango_does() -> None:
    steady = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]
    assert tools.paired(steady, [1.02 * time_s for time_s in steady], 2.6, 0.005).answer == 1
    assert tools.paired([1.02 * time_s for time_s in steady], steady, 2.6, 0.005).answer == -1
    assert tools.paired(steady, [1.004 * time_s for time_s in steady], 2.6, 0.005).answer == 0, "less than 0.5 %"
    assert tools.paired(steady, [1.2, 0.9, 1.1, 0.8, 1.3, 0.95], 2.6, 0.005).answer == 0, "within 2.6 standard errors"
    assert tools.paired(steady, [2.0 * time_s for time_s in steady], 2.6, 0.005).estimate == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("findings", "chosen"),
    [
        ([], "turns"),
        ([{"kind": "outliers", "numbers": {}}, {"kind": "turns", "numbers": {"reason": "slowed"}}], "turns (slowed)"),
        ([{"kind": "alongside", "numbers": {"at_once": 30, "turns": 20}}], "at once"),
        ([{"kind": "alongside", "numbers": {"at_once": 9, "turns": 20}}], "turns"),
    ],
)
def test_the_schedule_that_was_used_most_is_read_from_the_findings(findings: list[dict[str, Any]], chosen: str) -> None:
    assert tools.chosen_schedule(findings) == chosen


def test_overhead_subtracts_the_bare_cost_of_the_same_repetition() -> None:
    records = [
        {"costs_ns": {"bare": bare, "becalm": bare + 40_000.0}, "agent_ns": {"bare": 1.0, "own": 11.0}}
        for bare in (500_000.0, 900_000.0, 600_000.0)
    ]
    rows = {row["tool"]: row for row in overhead.summarize(records)}
    assert rows["becalm"]["over"] == pytest.approx([40_000, 40_000, 40_000])
    assert rows["bare"] == {"tool": "bare", "cost": [600_000, 500_000, 900_000], "over": None}
    assert rows[overhead.AGENT]["over"] == [10, 10, 10]
    assert overhead.judged(list(rows.values()))[0].endswith("met")


def test_overhead_must_also_be_below_the_peers() -> None:
    rows = [
        {"tool": "becalm", "cost": [0.0] * 3, "over": [50_000.0] * 3},
        {"tool": overhead.HYPERFINE, "cost": [0.0] * 3, "over": [20_000.0] * 3},
    ]
    assert overhead.judged(rows) == ["becalm: 50 µs over bare, wanted at most 20: not met"]


def test_time_per_run_in_the_first_and_last_tenth() -> None:
    # 1 ms a run for the first 500 of 1000, then 3 ms a run.
    moments = [(0, 10.0), (500, 10.5), (1000, 12.0)]
    assert scale.per_run_s(moments, 0.0, 0.1) == pytest.approx(0.001)
    assert scale.per_run_s(moments, 0.9, 1.0) == pytest.approx(0.003)


def test_scale_is_judged_by_its_largest_size() -> None:
    small = {"runs": 1000, "peak_bytes": 200_000_000, "first_s": 1.0, "last_s": 9.0}
    large = {"runs": 1_000_000, "peak_bytes": 120_000_000, "first_s": 1.0, "last_s": 1.1}
    assert [line.rpartition(": ")[2] for line in scale.judged([large, small])] == ["met", "met"]
    assert [line.rpartition(": ")[2] for line in scale.judged([small])] == ["not met", "not met"]


def test_the_simulator_is_judged_by_time_speed_and_memory() -> None:
    def row(workload: str, cpu_s: float, peak_bytes: int) -> dict[str, object]:
        return {"workload": workload, "cpu_s": cpu_s, "peak_bytes": peak_bytes, "events": 10**7, "messages": 8}

    rows = [row("hackbench", 1.0, 20), row("hackbench, a tenth", 0.1, 10), row("requests", 3.0, 20)]
    all_rows = [{**row, "policy": policy} for policy in simulate.POLICIES for row in rows]
    assert [line.rpartition(": ")[2] for line in simulate.judged(all_rows)] == ["met", "not met", "not met"] * 2
    assert simulate.gain({"low": 1.0, "value": 1.25, "high": 2.0}) == "20.0 % (0.0 to 50.0)"


def test_the_simulator_is_judged_against_real_kernels() -> None:
    """Fieller, Hartley and Pearson's interval of a rank correlation: tanh(atanh r ± 1.96 sqrt(1.06 / (n - 3)))."""
    value, low, high = simulate_real_report.spearman([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])
    assert (value, low, high) == pytest.approx((0.942857, 0.536, 0.994), abs=1e-3)
    names = list(simulate_real_settings.SETTINGS)
    rows = [{"setting": name, "measured": 0.9 - 0.01 * at, "simulated": 0.5 + at} for at, name in enumerate(names)]
    best = {"setting": simulate_real_settings.OPTIMUM, "measured": 0.8, "simulated": 0.5}
    result = {"hosts": [{"host": "h", "worst": 0.09}], "settings": [*rows, best], "optimum": {"gain": 0.5}}
    lines = simulate_real_report.judged(result)
    assert [line.rpartition(": ")[2] for line in lines] == ["met", "met", "not met", "not met"]
    assert lines[1].startswith("the published settings take 0.90 of the defaults' time in the guest, 0.50 in the model")
    assert "rank correlation over 15 settings -1.00" in lines[2]
    assert simulate_real.model_of("guest:6.1") == "sim:cfs?kernel=6.1&cpus=2"
    assert simulate_real.model_of("guest:6.13") == "sim:eevdf?kernel=6.12&cpus=2"
    assert simulate_real.model_of("guest:7.2") == "sim:eevdf?kernel=6.18&cpus=2"


def test_parts_of_the_simulator_that_are_finished_are_kept_and_others_measured_again(tmp_path: Path) -> None:
    chosen = Namespace(out=tmp_path / "x.json", quick=False, groups=2, loops=None, again=False)
    fresh = simulate_real.resumed(chosen)
    assert (fresh["hosts"], simulate_real.finished(fresh)) == ([], set())
    entry = {"host": "guest:6.12", "simulator": "sim:eevdf?switch_ns=7"}
    parts = [{"part": "sizes", "host": "guest:6.12", "load": [1.0, 2.5]}, {"part": "settings", "host": "guest:6.1"}]
    campaign.save(chosen.out, {**fresh, "hosts": [entry], "parts": parts, "failed": ["sizes on local: gone"]})
    record = simulate_real.resumed(chosen)
    assert (simulate_real.finished(record), record["parts"]) == ({("sizes", "guest:6.12")}, parts[:1])
    assert record["failed"] == []
    assert simulate_real.simulator_of(record, "guest:6.12") == "sim:eevdf?switch_ns=7"
    assert simulate_real.simulator_of(record, "guest:6.1") == "sim:cfs?kernel=6.1&cpus=2"
    assert simulate_real_report.load(record, "sizes", "guest:6.12") == ", load 1.0 to 2.5"
    chosen.groups = 3
    with pytest.raises(SystemExit, match="--again measures all of it anew"):
        simulate_real.resumed(chosen)
    chosen.again = True
    assert simulate_real.resumed(chosen)["hosts"] == []


def test_startup_takes_the_median_of_each_command() -> None:
    records = [{"wall_s": dict.fromkeys(startup.commands(), wall)} for wall in (0.05, 0.5, 0.07)]
    rows = {row["command"]: row for row in startup.summarize(records)}
    assert rows["becalm --version"] == {"command": "becalm --version", "median": 0.07, "min": 0.05, "max": 0.5}
    assert all(line.endswith(": met") for line in startup.judged(list(rows.values())))


def test_aa_counts_every_call_and_pools_the_programs() -> None:
    def comparison(program: str, answer: int, estimate: float) -> dict[str, Any]:
        reading = {"answer": answer, "estimate": estimate}
        return {
            "program": program,
            "tools": {"auto": {"readings": {"becalm, auto": reading}, "runs": 50, "low": -0.01, "high": 0.03}},
        }

    records = [comparison("gzip", 0, 0.001), comparison("gzip", -1, -0.02), comparison("sort", 0, 0.004)]
    rows = {row["program"]: row for row in aa.summarize(records)}
    assert (rows["gzip"]["different"], rows["gzip"]["comparisons"]) == (1, 2)
    assert (rows["all"]["different"], rows["all"]["comparisons"]) == (1, 3)
    assert rows["all"]["largest_error"] == 0.02
    assert rows["sort"]["half_width"] == pytest.approx(0.02)
    judged = f"becalm, auto: {campaign.share(1, 3)} called different, wanted at most 5 %: not met"
    assert aa.judged(list(rows.values())) == [judged]
