"""Every kind of finding that any analysis reports has a row, and a sentence made of its numbers alone."""

import ast
import json
import re

import pytest
from tests.places import ROOT

from becalm.load.limits import LIMITS
from becalm.load.reported_waits import KINDS
from becalm.wording.findings import TABLE, finding
from becalm.wording.series_findings import _REASONS

BARS = {"part_ns": 3e6, "excess_ns": 4e6, "quota": True}
REASONS = {"waited": {"wait_ns": 2e6}, "page_reads": {"pages": 3}}

EXAMPLES = {
    "short": {"median_ns": 8e5},
    "warmup": {"drop": 2, "excess": 0.3},
    "drift": {"change": -0.05, "p_value": 0.001},
    "levels": {"run": 2869, "runs": 3000, "change": -0.17, "spread": 0.2, "levels": 3},
    "period": {"period": 12.3, "p_value": 0.001},
    "bimodal": {"low_ns": 1e7, "high_ns": 1.2e7, "low_share": 0.4, "p_value": 0.001},
    "outliers": {
        "count": 2, "runs": 90, "seqs": [4, 9], "changes": [0.5, -0.2], "causes": ["I/O wait", None],
        "cause_ns": [3e6, None], "reasons": [{"kind": "I/O wait", **BARS}, {"kind": "cpu_alike"}],
    },
    "counted": {"callgrind": True},
    "instructions": {
        "reference": "old", "instructions": [0.12, 0.11, 0.13], "rate": [0.001, -0.004, 0.006], "confidence": 0.95,
        "pairs": 40,
    },
    "alongside": {
        "schedule": "auto", "cpus": [0, 1], "at_once": 90, "turns": 20, "slowdowns": [0.07, 0.07],
        "slowdown_error": 0.001, "change": 0.03, "change_error": 0.001, "most_cpus": 1.8,
        "starts": 180, "near": 178,
    },
    "confirmed_alongside": {"cpus": [0, 1], "starts": 60, "near": 58},
    "turns": {"reason": "slowed"},
    "emulated": {"reason": "its processor is emulated"},
    "settings": {"settings": {"nice": -5}, "standing": {"swappiness": 1}},
    "other_machine": {"machine": "ci-7", "kernel": "6.1.0", "commit": "a" * 40, "needed": 3},
    "other_unit": {"units": ["ns", ""]},
    "stray_sessions": {"values": [["load", "a" * 40], ["draw", "b" * 40]], "of": 60},
    "lost_commits": {"commits": ["a" * 40, "b" * 40]},
    "gone": {"commit": "a" * 40, "new": ["parse_all"]},
    "clock_stepped": {"times": 2, "order": "git"},
    "uncommitted": {"sessions": 3},
    "left_behind": {"runs": 3},
    "failure": {
        "seq": 1, "status": 3, "outcome": "failed", "wall_ns": 10**6, "warmup": False, "stderr": "boom", "done": 4,
    },
    "waits": {
        "runs": 2, "wall_ns": 2e9, "lost_ns": 1e9, "others_ns": 8e8, "own_ns": 0.0, "quota_ns": 1e8,
        "hypervisor_ns": 1e8, "unknown_ns": 0.0, "culprits": [], "suspects": None, "cpus": 2, "quota_cpus": 0.5,
        "quotas": [], "several": False, "scope": "tree", "blocks": 3,
    },
    "disk_waits": {
        "runs": 2, "wall_ns": 2e9, "lost_ns": 1e9, "own_bytes": 4096, "disk_bytes": 10**8, "culprits": [],
        "suspects": None, "unread": 0, "disks": 1, "blocks": 3,
    },
    "memory_waits": {
        "runs": 2, "wall_ns": 2e9, "lost_ns": 1e9, "own_bytes": 4096, "grown_bytes": 10**8, "swapped_bytes": None,
        "growers": [], "blocks": 3,
    },
    "network_use": {
        "runs": 2, "wall_ns": 2e9, "slept_ns": 1e9, "interval_ns": 2e9, "own_bytes": 4096, "others_bytes": 10**8,
        "movers": [], "blocks": 3,
    },
    "contamination_unknown": {
        "rounds": [3],
        "complete": 10,
        "rule": "steal>5%",
        "dropped": False,
        "measures": {"steal": 1},
    },
    "contaminated": {
        "rounds": [1, 4], "complete": 20, "rule": "cpu>20%", "limits": {"cpu": 0.2}, "dropped": True,
        "measures": {"cpu": 2},
    },
    "remark": {"said": "39 kernel threads are bound to their CPUs and could not be moved."},
    "no_load": {"study": 7, "imported": True},
    "loaded_reference": {"machine": "here", "loaded": 4, "steps": 5, "used": False},
    "no_delay": {"machine": "here"},
    "network_errors": {"machine": "here", "events": 8, "of": 16000, "limit": 0.00025},
    "nfs_retransmissions": {"machine": "here", "events": 8, "of": 80, "limit": 0.05},
    **{
        kind: {
            "cpu_share": 0.9, "cpu_share_low": 0.8, "cpu_share_high": 0.95, "spread": 0.02, "floor": 0.015,
            "runs": 24, "runs_for_one_percent": 16,
        }
        for kind in ("program", "waiting")
    },
    "processor": {
        "cpu_share": 0.9, "cpu_share_low": 0.8, "cpu_share_high": 0.95, "spread": 0.02, "floor": 0.015, "runs": 24,
        "runs_for_one_percent": 16, "helped": "pyperf", "reduction": 4.1, "reduction_low": 2.9, "at_most": None,
    },
    "search_drift": {"p_value": 0.001, "spread": 0.03},
    "censored": {"failed": 2, "trials": 20, "slow": 1},
    "no_fit": {"why": "time is 1 in all 20 runs."},
    "strongest": {
        "arms": ["all profiles", "all settings"], "helped": None, "at_most": 2.63, "at_most_of": "all settings",
    },
    "parallel": {"cpus": 1.9, "confining": ["cpus"]},
    "tried": {"name": "pyperf", "same_as": None},
    "list_best": {"list": "pyperf", "ratio": 1.4, "low": 1.2, "high": 1.7},
    "no_better": {"list": "pyperf", "ratio": 1.0, "low": 0.8, "high": 1.2},
    "budget": {"left_out": ["without nice", "pyperf"]},
    "refused": {"settings": {"nice": -20}, "error": "no."},
    "equal_layouts": {"seeds": [3, 5], "layouts": 6},
    "neighbours": {"neighbours": ["a -x", "b"], "cpus": "1"},
    "setting_changed": {"knob": "governor", "place": "/sys/x", "found": "a", "wanted": "b"},
    "setting_clamped": {"knob": "frequency_floor", "place": "/sys/x", "found": "400000", "wanted": "1"},
    "partial": {"profile": "pyperf", "knobs": ["governor"]},
    "boots": {"boots": 3, "boot_ns": 4e9, "share": 0.1},
    "at_boot": {"knobs": ["isolcpus"], "rationale": {"isolcpus": "keeps tasks away"}},
    "choice": {"why": "The race chose 2 of 9 settings."},
    "nothing": {"host": "a"},
    "imported": {"source": "hyperfine"},
    "region_limit_unknown": {"quantum_ns": 10.0},
    "region_short": {"names": ["a", "b"], "cost_ns": 13.0},
    "region_below": {"names": ["a", "b"], "calls": [9, 17], "t_min_ns": 500.0},
    "region_migrated": {"regions": 3, "of": 4000},
    "region_backwards": {"regions": 1, "of": 4000},
    "region_dropped": {"regions": 17, "recorded": 1000, "keeps_last": True},
    "region_thinned": {"read": 1000, "recorded": 4000},
    "region_damage": {"bytes": 30, "places": 1, "lost": 512, "header": True, "open": True},
    "region_store_damage": {"pieces": 1},
    "region_clock": {"trapped": True, "source": "rdtscp;lfence"},
    "region_rate": {"hypervisor": True},
    "region_stepped": {},
    "region_cause": {"study": 4, "columns": ["steal_ns", "irq_ns"], "p_value": 0.01, "ticks": 100, "outliers": 7},
    "region_no_cause": {"study": 4, "why": "few", "ticks": 12},
    "region_machines": {"machines": ["A 0123", "B 4567"]},
    "region_timer": {"kept_hz": 2e9, "hz": 2.6e9},
    "region_elsewhere": {},
    "region_one_side": {"side": "old", "names": ["parse"]},
    "region_some_files": {"names": ["a", "b", "c", "d"], "files": 4},
    "region_cut_files": {"files": ["a.1.regions"]},
    "region_one_file": {"wanted": 5},
    "region_coarse": {"name": "parse", "share": 0.2, "calls": 4},
    "same_machine": {"hosts": ["a", "b"]},
    "busy": {"wait_share": 0.2, "host": "a"},
    "lack_of_fit": {"model": "linear", "p_value": 0.01, "larger": ["quadratic"], "power": None, "curvature": False},
    "curvature": {"value": 3.45, "low": 3.2, "high": 3.7, "t": 37.8, "p_value": 4e-5, "freedom": 3},
    "near_ridge": {"directions": ["a +0.71, b -0.71"], "shares": [0.03]},
    "no_effect": {"detectable": 0.4, "mean": 3.0, "runs": 20},
    "saturated": {"model": "linear", "real": ["a", "b"]},
    "aliased_terms": {"model": "quadratic", "terms": ["a^2 = constant", "b^2 = constant"]},
    "partly_aliased": {"share": 1 / 3},
    "power": {"power": -0.2, "low": None, "high": 0.4, "advised": 0.0},
    "no_power": {"smallest": -3.0},
    "fit_outlier": {"run": 7, "studentised": 6.1, "p_value": 0.001},
    "influential": {"runs": [7], "run": 7, "cook": 1.8},
    "imprecise": {"precision": 2.1, "needed": 4.0},
    "overfitted": {"adjusted": 0.9, "predicted": 0.2},
    "untested_fit": {"model": "linear"},
    "at_border": {"factors": ["temp"], "goal": "min"},
    "stationary": {"kind": "saddle", "inside": False, "wanted": "minimum", "levels": [3.0, "x"], "factors": ["a", "b"],
                   "place": "a 3 ms, b x", "distance": 1.4},
    "extrapolated": {"leverage": 1.2, "largest": 0.7},
    "missing_runs": {"missing": 2, "runs": 18},
    "left_out": {"reason": "no finite number", "entries": [["a", 2], ["b", 1]], "of": "x.json"},
    "local_time": {"first": "2026-11-20 10:00:10", "offset": "+02:00", "of": "x.json"},
    "processors": {"old": "2", "new": "", "benchmarks": ["BenchmarkX"]},
    "outside_range": {"ends": ["time goes from 77.9 min to 92.1 min"]},
    "rate_not_kept": {"processor": "X", "work": "add", "memory": 0.25, "unlike": 0.6},
    "few": {"machines": 3, "processor": "X", "least": 8},
}  # fmt: skip


def reported():
    """Return the kinds in calls of `finding`, and calls of `Finding` outside the one place that makes them."""
    kinds, by_hand = set(), []
    for path in sorted((ROOT / "python/becalm").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "inding(" in text else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if node.func.id == "finding" and isinstance(node.args[0], ast.Constant):
                kinds.add(node.args[0].value)
            elif node.func.id == "Finding" and path.name != "findings.py":
                by_hand.append(f"{path}:{node.lineno}")
    return kinds, by_hand


def test_every_kind_that_is_reported_has_a_row_and_no_finding_is_worded_elsewhere():
    kinds, by_hand = reported()
    rows = {row.kind for row in TABLE}
    assert kinds <= rows
    assert rows - kinds <= {"processor", "program", "waiting", *KINDS, *(limit.kind for limit in LIMITS)}, (
        "these kinds are computed"
    )
    assert by_hand == []


def test_kinds_are_distinct():
    assert len({row.kind for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.kind)
def test_the_sentence_is_made_of_the_numbers_alone(row):
    numbers = EXAMPLES[row.kind]
    assert set(numbers) == set(row.numbers)
    sentence = finding(row.kind, json.loads(json.dumps(numbers)), "prog").sentence.strip()
    assert re.match(r"[A-Z0-9]|prog\b|a\b|a and b\b|pyperf\b|nice\b|governor\b", sentence), sentence
    assert sentence.endswith((".", "boom")), sentence
    assert "None" not in sentence
    assert "{" not in sentence


@pytest.mark.parametrize("kind", _REASONS)
def test_every_reason_of_an_outlier_has_words(kind):
    why = {"kind": kind, **BARS, **REASONS.get(kind, {})}
    numbers = {**EXAMPLES["outliers"], "count": 1, "seqs": [4], "changes": [0.5], "reasons": [why]}
    sentence = finding("outliers", numbers, "prog").sentence
    assert sentence.startswith("1 of 90 runs is an outlier (kept). Run 4 took 50 % longer: ")
    assert finding("outliers", {**numbers, "several": True}, "prog").sentence.startswith(
        "1 of 90 runs of prog is an outlier"
    )


def test_a_host_is_named_where_a_program_was_measured_on_several():
    assert finding("left_behind", {"runs": 1, "host": "b"}, "prog").sentence.startswith("On b: prog left")
    assert not finding("busy", EXAMPLES["busy"]).sentence.startswith("On ")


def test_an_unknown_kind_is_an_error_where_it_is_made():
    with pytest.raises(KeyError):
        finding("odd", {})


@pytest.mark.parametrize(
    ("change", "far"),
    [(-0.4, "40 % less"), (0.5, "50 % longer"), (1.1, "2.1 times as long"), (73.82, "75 times as long"),
     (1233.2, "1,234 times as long")],
)  # fmt: skip
def test_the_distance_of_an_outlier_is_a_factor_from_twice_the_time_on(change, far):
    numbers = {"count": 1, "runs": 90, "seqs": [4], "changes": [change], "reasons": [{"kind": "no_cpu_time"}]}
    numbers = {**EXAMPLES["outliers"], **numbers}
    assert f"Run 4 took {far}: the record holds no CPU time." in finding("outliers", numbers, "prog").sentence
