"""From runs of a study to a profile, and what is said of it."""

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.analysis.corun_cases import profile

from becalm.analysis.corun import chips_of, co_run_profile, cpus_of, threads_of
from becalm.analysis.place_gain import parts_of
from becalm.nouns.codec import plain
from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.corun import cells
from becalm.report import corun as report
from becalm.report.terminal import console
from becalm.results.corun import CoRunProfile
from becalm.results.place_costs import Chip
from becalm.wording import corun as wording

LEVEL = {"level": 3, "type": "unified"}


def conclusion_of(rows, tallies=(), texts=(), names=("a", "b"), wait_ns=None, interrupted=False, emulated=""):
    some = cells(len(names), 2)
    options = CoRunOptions(names=names, chips=((0, 1),), cpu=0, alongside_cpus=(1,), emulated=emulated)
    workloads = [Workload.of([names[cell.program]]) for cell in some]
    study = Study("corun", (*(Workload.of([name]) for name in names), *workloads), options=plain(options))
    made_rows = [
        Run(
            **dict.fromkeys(COLUMNS)
            | {"seq": seq, "workload": workload, "round": number, "wall_ns": int(seconds * 1e9), "started_ns": 0,
               "outcome": outcome, "wait_ns": wait_ns, "status": 3 if outcome == "failed" else 0}
        )
        for seq, (workload, number, seconds, outcome) in enumerate(rows)
    ]  # fmt: skip
    return co_run_profile(
        study, some, made_rows, {"cpu": "x"}, texts=dict(texts), tallies=dict(tallies), remarks=["told."],
        interrupted=interrupted,
    )  # fmt: skip


def rounds(count, *seconds):
    return [(workload, number, profile, "ok") for number in range(count) for workload, profile in enumerate(seconds)]


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-2,5", (0, 1, 2, 5)), ("7", (7,)), ("", ()), ("0-1\n", (0, 1))]
)  # fmt: skip
def test_lists_of_cpus(text, cpus):
    assert cpus_of(text) == cpus


def test_chips_are_the_allowed_cpus_of_the_last_cache_the_largest_first():
    levels = [
        {"level": 1, "type": "data", "shared_cpu_lists": ["0", "1", "2", "3", "4"]},
        {**LEVEL, "shared_cpu_lists": ["0-1", "2-4"]},
    ]
    facts = {"cpu": {"allowed": "0,2-4"}, "caches": {"levels": levels}}
    assert chips_of(facts) == (((2, 3, 4), (0,)), True)


def test_where_cores_have_two_threads_cpus_come_core_by_core():
    first = {"level": 1, "type": "data", "shared_cpu_lists": ["0,4", "1,5", "2,6", "3,7"]}
    levels = [first, {**LEVEL, "shared_cpu_lists": ["0-1,4-5", "2-3,6-7"]}]
    facts = {"cpu": {"allowed": "0-7"}, "caches": {"levels": levels}}
    assert chips_of(facts) == (((0, 4, 1, 5), (2, 6, 3, 7)), True)
    assert threads_of(facts) == 2
    # One thread alone may be used: it is a core like any other, and becalm makes no pairs of what is left.
    assert threads_of({**facts, "cpu": {"allowed": "0-6"}}) == 1
    assert threads_of({"cpu": {"allowed": "0-7"}, "caches": {"levels": levels[1:]}}) == 1


def test_the_additional_cost_of_sharing_a_core_is_a_cost_of_siblings():
    apart = np.array([[0, 0.1], [0.2, 0]])
    measured = profile(apart, [1.0, 1.0], noise=0.001)
    on_one = profile(np.array([[0, 0.4], [0.15, 0]]), [1.0, 1.0], noise=0.001, seed=1)
    both = replace(measured, co_runs=(*measured.co_runs, *(replace(run, same_core=True) for run in on_one.co_runs)))
    costs = both.costs()
    assert {(pair.task, pair.alongside): round(pair.cost, 1) for pair in costs.pairs} == {
        ("t0", "t1"): 0.1, ("t1", "t0"): 0.2,
    }  # fmt: skip
    more = {sibling.task: sibling.cost for sibling in costs.siblings}
    assert more["t0"] == pytest.approx(0.3, abs=0.01)
    assert more["t1"] == 0
    assert both.degradation("t0", ["t1"]).cost == pytest.approx(0.1, abs=0.01)
    assert both.on_one_core("t0", "t1").cost == pytest.approx(0.4, abs=0.01)
    assert both.tasks()[0].sensitivity == measured.tasks()[0].sensitivity
    assert wording.sentence(both).startswith("t0 next to t1 on one core loses most: 39.98")
    assert CoRunProfile.from_json(both.to_json()).costs() == costs
    parts = parts_of(replace(both, chips=(Chip(1, 2), Chip(1, 2))))
    assert all(part.costs.siblings for part in parts)


@pytest.mark.parametrize("caches", [None, {"levels": []}, {"levels": [{**LEVEL, "shared_cpu_lists": ["0-1"]}]}])
def test_where_caches_are_hidden_all_cpus_are_one_chip_and_that_is_reported(caches):
    assert chips_of({"cpu": {"allowed": "0-3"}, "caches": caches}) == (((0, 1, 2, 3),), False)


def test_runs_become_a_profile_whose_sentence_names_the_costliest_pair():
    conclusion = conclusion_of([(0, -1, 9.0, "ok"), *rounds(8, 1.0, 2.0, 2.0, 2.0)])
    assert conclusion.degradation("a", ["b"]).cost == pytest.approx(0.5)
    assert conclusion.degradation("b", ["a"]).cost == pytest.approx(0.0)
    assert conclusion.program("a").solo_s == 1.0
    assert conclusion.sentence.startswith("a next to b loses most: 50")
    assert conclusion.remarks == ("told.",)
    assert conclusion.left_out == ()


def test_failures_alone_and_in_co_runs_have_their_reason():
    rows = [*rounds(6, 1.0, 2.0, 1.0)[:18], *((3, number, 1.0, "failed") for number in range(2))]
    conclusion = conclusion_of(rows, texts={len(rows) - 1: ("line\nboom.\n", "")})
    assert "b failed each time next to a, and not alone: exit code 3: boom." in conclusion.remarks
    assert conclusion.left_out[0].reason == wording.FAILED_ALONGSIDE
    alone = conclusion_of(
        [(0, -1, 1.0, "failed"), (1, -1, 1.0, "ok"), *((1, number, 1.0, "ok") for number in range(3))]
    )
    assert "a fails alone and was left out: exit code 3." in alone.remarks
    assert alone.left_out[0].reason == wording.FAILED_ALONE
    assert alone.sentence == "No two programs were measured together."


def test_an_interrupted_run_has_not_failed():
    rows = [*rounds(1, 1.0, 2.0, 1.0), (3, 0, 1.0, "aborted")]
    assert [exclusion.reason for exclusion in conclusion_of(rows, interrupted=True).left_out] == [wording.INTERRUPTED]
    assert [exclusion.reason for exclusion in conclusion_of(rows).left_out] == [wording.NO_TIME]


def test_a_neighbour_that_was_mostly_away_is_named():
    did = {"restarts": 4, "failures": 0, "status": None, "short": 0, "cpu_ns": 1, "kept_ns": 100, "away_ns": 50}
    conclusion = conclusion_of(rounds(6, 1.0, 2.0, 2.0, 2.0), tallies={2: [did]})
    assert conclusion.co_runs[0].restarts == 4
    assert any("b did not run for 50 % of the time" in remark for remark in conclusion.remarks)


def test_a_neighbour_that_hardly_ran_has_no_pressure():
    did = {"restarts": 90, "failures": 0, "status": None, "short": 9, "cpu_ns": 1, "kept_ns": 100, "away_ns": 50}
    conclusion = conclusion_of(rounds(6, 1.0, 2.0, 2.0, 2.0), tallies={2: [did]})
    tasks = {task.name: task for task in conclusion.tasks()}
    assert conclusion.co_runs[0].unsteady == ("b",)
    assert (tasks["b"].pressure, tasks["a"].pressure) == (None, 0.0)


@pytest.mark.parametrize(("wait_ns", "waited"), [(0, 0.0), (5 * 10**8, 0.5), (None, None)])
def test_waiting_for_a_cpu_is_reported_since_it_is_no_loss_of_cache(wait_ns, waited):
    conclusion = conclusion_of([(*row[:3], "ok") for row in rounds(6, 1.0, 1.0, 1.0, 1.0)], wait_ns=wait_ns)
    assert conclusion.waited == waited
    assert any("waited for their CPU for 50 %" in remark for remark in conclusion.remarks) is (waited == 0.5)


def test_a_profile_of_a_guest_says_that_its_times_are_emulated():
    conclusion = conclusion_of(rounds(3, 1, 1, 2, 2), emulated="no KVM")
    assert conclusion.remarks[0] == "Times on this host are emulated (no KVM): they say nothing about a real processor."
    assert not any("emulated" in remark for remark in conclusion_of(rounds(3, 1, 1, 2, 2)).remarks)


def test_one_round_is_not_sure_of_any_digit():
    assert "Only one round was measured" in conclusion_of(rounds(1, 1.0, 2.0, 2.0, 2.0)).sentence


def test_a_loss_that_was_not_seen_has_a_bound():
    conclusion = conclusion_of(rounds(8, 1.0, 2.0, 1.0, 2.0))
    assert conclusion.sentence.startswith("No program was seen to lose speed next to another")


@pytest.mark.parametrize("count", [3, 7])
@pytest.mark.parametrize("columns", [80, 120])
def test_the_report_fits_and_names_every_program(count, columns):
    costs = [[0.1 * (a + b) / count for b in range(count)] for a in range(count)]
    measured = profile(costs, [1.0] * count, left_out=[("t0", "t1")])
    screen = console(plain=True)
    screen.width = columns
    with screen.capture() as capture:
        screen.print(report.on_terminal(measured, plain=True, columns=columns))
    lines = capture.get().splitlines()
    assert all(len(line) <= columns for line in lines)
    assert all(any(f"t{n}" in line for line in lines) for n in range(count))
    assert len(list(report.tables(measured))) == 2
