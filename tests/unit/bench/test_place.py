"""The report of the bench of placements on its figures."""

import pytest

from place import WITHOUT, judged, report

MACHINE = {
    "cpu": "c", "cores": 2, "virtual": False, "kernel": "6", "system": "s", "python": "3.11", "load": 0, "date": "d",
}  # fmt: skip


@pytest.fixture
def result():
    rows = [
        {"workload": f"{k + 1}", "method": method, "cost": cost, "regret": cost / 0.1 - 1, "unfairness": 90.0}
        | {"decision_ns": 3000}
        for k in range(len(WITHOUT))
        for method, cost in (("optimal", 0.1), ("costs", 0.1002), ("di", 0.11))
    ]
    planted = [
        {"tasks": tasks, "room": 8, "optimum": 0.035, "cost": 0.035, "decision_s": 0.4, "out_of_time": False}
        for tasks in (64, 1000)
    ]
    bounded = [{"tasks": 64, "room": 8, "swap": 0.1, "bound": 0.0995, "swap_s": 0.2, "best": 0.1, "di": 0.12}]
    speeds = {"table_ns": 2000, "mlp_ns": 100, "svm_ns": 4000, "costs_ns": 200}
    return {
        "machine": MACHINE, "nine": rows, "generated": rows, "planted": planted, "bounded": bounded, "speeds": speeds,
    }  # fmt: skip


def test_goals_are_met_or_not(result):
    assert all(line.endswith(": met") for line in judged(result))
    result["speeds"]["table_ns"] = 20_000
    result["bounded"][0]["bound"] = 0.09
    for row in result["nine"]:
        row["cost"] = row["cost"] * 1.2 if row["method"] == "costs" else row["cost"]
    missed = [line for line in judged(result) if line.endswith("not met")]
    assert [line.partition(",")[0] for line in missed] == [
        "`costs` costs at most 1.0931 times what DI does",
        "a decision from a table takes 20.00 µs",
        "64 tasks in 0.20 s",
    ]


def test_the_report_has_a_row_for_each(result):
    text = report(result)
    assert text.count("| 9 |") == 1
    assert "| costs | 0.20 % | 0.20 % | 9 of 9 |" in text
    assert "1000 on 125 × 8, planted" in text
    result["bounded"][0]["bound"] = None
    assert "| none |" in report(result)
