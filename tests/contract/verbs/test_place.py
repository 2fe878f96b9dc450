"""Advice about sharing chips, whose optimum becalm-sim finds."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.analysis.corun_cases import profile
from tests.unit.analysis.test_place_gain import SAME, SOLO, TRUE
from tests.unit.report.test_table_width import screen
from tests.unit.verbs.test_place import COSTS, ONE, SIM, from_file, saved

import becalm
from becalm.errors import RefusedError, UsageError
from becalm.hosts.agent import agent_path
from becalm.nouns.workload import AGENT, Workload
from becalm.report import forms
from becalm.results.corun import FailedRun
from becalm.results.place import PlacementAdvice, SharingShape
from becalm.results.place_costs import Chip
from becalm.wording import place as wording

REAL = (Chip(2, cpus=(0, 1)), Chip(2, cpus=(2, 3)))


@pytest.fixture
def advise(tmp_path):
    """Saves a profile and says what is advised by it."""

    def advised(costs=TRUE, solo=SOLO, *, changed=lambda result: result, place=None, **options):
        options.setdefault("machine", {})
        return becalm.place(
            saved(tmp_path / "profile.json", changed(profile(costs, solo, **options))), host=SIM, **(place or {})
        )

    return advised


def test_a_clear_best_sharing_is_reported_with_its_gain(advise):
    advice = advise(chips=REAL)
    assert advice.shape is SharingShape.CHIPS
    assert {frozenset(names) for names in advice.sharing} == {frozenset(("t0", "t1")), frozenset(("t2", "t3"))}
    assert advice.over_random.found
    assert advice.over_worst.estimate > advice.over_random.estimate
    assert advice.gap == pytest.approx(0, abs=1e-9)
    assert advice.sentence.startswith("These share a chip: t0 with t1; t2 with t3. So they lose 2")
    assert "less than by chance (the mean of all sharings)" in advice.sentence
    assert "that is proved" in wording.proof(advice)
    assert [frozenset((cost.first, cost.second)) for cost in advice.costliest[:2]] in (
        [frozenset(("t0", "t2")), frozenset(("t1", "t3"))], [frozenset(("t1", "t3")), frozenset(("t0", "t2"))],
    )  # fmt: skip
    apart = "are on different chips: next to each other they lose"
    assert any(apart in sentence for sentence in wording.explained(advice))
    assert advice.cpus_of("t0") == advice.cpus_of("t1")


def test_without_a_difference_there_is_nothing_to_gain(advise):
    advice = advise(SAME)
    assert not advice.over_random.found
    assert advice.sentence.startswith("No gain is shown")


def test_too_few_rounds_cannot_say_how_sure(advise):
    advice = advise(rounds=2)
    assert advice.over_random.noise is None
    assert not advice.over_random.found
    assert "it is not known how certain that is" in advice.sentence


def test_pairs_that_were_left_out(advise):
    advice = advise(left_out=[("t0", "t2")])
    assert advice.unmeasured == (("t0", "t2"),)
    assert advice.resting_on == ()
    (sentence,) = wording.unmeasured(advice)
    assert sentence.startswith("Not measured together: t0 and t2. ")
    # In rounds, what nobody measured together does not run together.
    apart = advise(np.full((3, 3), 0.1), np.ones(3), chips=(Chip(2),), left_out=[("t0", "t1"), ("t0", "t2")])
    assert {frozenset(names) for names in apart.sharing} == {frozenset(("t0",)), frozenset(("t1", "t2"))}


def test_the_effect_of_unmeasured_pairs_is_reported(advise):
    advice = advise(left_out=[("t0", "t1")])
    assert ("t0", "t1") not in advice.sharing
    assert advice.could_change > 0
    assert "another sharing would be better by" in wording.unmeasured(advice)[0]


def test_unmeasured_pairs_in_a_sharing_are_reported(advise):
    advice = advise(left_out=[("t0", "t1"), ("t2", "t3"), ("t0", "t2"), ("t0", "t3")])
    assert advice.resting_on
    assert "assumed to cost as much as the costliest pair" in wording.unmeasured(advice)[0]


def test_a_profile_of_another_machine(advise):
    elsewhere = {"hostname": "another-machine"}
    with pytest.raises(RefusedError, match="was measured on another machine: hostname another-machine"):
        advise(machine=elsewhere)
    advice = advise(machine=elsewhere, place={"force": True})
    assert any("another-machine" in warning for warning in advice.warnings)


def test_programs_that_failed_are_reported(advise):
    failed = (FailedRun(0, 0, "It ended with 3."),)

    def broken(result):
        first, *others = result.programs
        co_runs = [
            replace(run, runs=(), failed=failed) if {run.program, *run.alongside} == {"t1", "t2"} else run
            for run in result.co_runs
        ]
        return replace(result, programs=(replace(first, alone=(), failed=failed), *others), co_runs=tuple(co_runs))

    advice = advise(changed=broken)
    assert sorted(name for names in advice.sharing for name in names) == ["t1", "t2", "t3"]
    assert "t0 never ended well alone (It ended with 3.), and is not placed." in advice.warnings
    assert "t1 fails next to t2: It ended with 3." in advice.warnings
    assert advice.unmeasured == (("t1", "t2"),)


def test_remarks_of_the_profile_are_repeated(advise):
    advice = advise(changed=lambda result: replace(result, remarks=("Programs waited for their CPU.",)))
    assert "The profile reports: Programs waited for their CPU." in advice.warnings


def test_programs_that_are_built_in_are_typed_as_the_agent_runs_them(advise):
    def built_in(result):
        first, *others = result.programs
        inside = replace(first, workload=Workload.of([AGENT, "kernel", "triad"]))
        return replace(result, programs=(inside, *others))

    advice = advise(changed=built_in)
    assert advice.commands["t0"] == (agent_path(), "kernel", "triad")
    assert advice.commands["t1"] == ("t1",)


def test_chips_of_ones_own_and_too_few_of_them(advise):
    assert advise(chips=ONE, place={"chips": "2/2"}).shape is SharingShape.CHIPS
    with pytest.raises(
        UsageError, match=r"4 processes do not fit on chips that have room for 3\. Place them in 2 rounds"
    ):
        advise(place={"chips": "2/1"})


@pytest.mark.parametrize("method", ["swap", "di", "di-lp", "linux", "random"])
def test_other_methods_are_judged_alike(advise, method):
    advice = advise(place={"method": method})
    assert advice.method == method
    assert sorted(name for names in advice.sharing for name in names) == ["t0", "t1", "t2", "t3"]
    assert advice.over_random.noise is not None


def test_advice_is_read_back(advise):
    advice = advise(chips=REAL, left_out=[("t0", "t2")])
    value = json.loads(json.dumps(advice.to_json(), allow_nan=False))
    assert value["gain_found"] is True
    assert value["cpus"]["t0"] == list(advice.cpus_of("t0"))
    assert PlacementAdvice.from_json(value) == advice


def test_costs_of_ones_own(tmp_path):
    advice = from_file(tmp_path, COSTS)
    assert "c" in advice.sharing[0]
    assert advice.over_random.found
    exact = {**COSTS, "costs": {"pairs": [{**pair, "error": None} for pair in COSTS["costs"]["pairs"]]}}
    advice = from_file(tmp_path, exact)
    assert advice.over_random.noise is None
    assert "the costs come without errors" in advice.sentence


@pytest.mark.parametrize("width", [80, 120])
def test_the_costliest_pairs_keep_both_names_and_all_numbers(tmp_path, width):
    """With names of 100 characters; who shares a chip is told with whole names, on several lines."""
    long = {letter: f"{letter}-{'x' * 87}-end-of-it" for letter in "abc"}
    pairs = [
        {**pair, "task": long[pair["task"]], "alongside": long[pair["alongside"]]} for pair in COSTS["costs"]["pairs"]
    ]
    tasks = [{"name": text, "solo_s": 1.0} for text in long.values()]
    advice = from_file(tmp_path, {**COSTS, "tasks": tasks, "costs": {"pairs": pairs}})
    lines = screen(forms.on_terminal(advice, plain=True, columns=width), width, "ascii")
    assert max(len(line) for line in lines[1:]) <= width
    rows = [line.split() for line in lines if line.endswith(("  yes", "  no"))]
    assert len(rows) == 3
    for row, other, first, _, second, _, together in rows:
        assert row[0] != other[0]
        assert row.endswith("of-it")
        assert other.endswith("of-it")
        assert abs(len(row) - len(other)) <= 1, "they share the room"
        assert first == second == ("10.0" if "c" in row[0] + other[0] else "30.0")
        assert together in ("yes", "no")
