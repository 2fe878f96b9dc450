"""A study that asks for instructions is counted by the processor, or else by callgrind."""

from dataclasses import replace

import pytest

import becalm
from becalm.errors import RefusedError, UsageError, WorkloadError
from becalm.nouns.callgrind import counting_environment
from becalm.nouns.metric import CALLGRIND, COUNTER, INSTRUCTIONS, metrics
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.study.exact_counts import with_counter

HARDWARE = COUNTER + INSTRUCTIONS


class Machine:
    """A host that has a counter of instructions or not, and may lack the programs or refuse them."""

    def __init__(self, *, counts, error=None):
        self.counts, self.error = counts, error

    def define(self, workloads, settings, *, dangerous=False):
        assert all(metric.spec == HARDWARE for workload in workloads for metric in workload.metrics)
        if self.error is not None:
            raise self.error
        if not self.counts:
            raise RefusedError(f"{HARDWARE} cannot be measured here: no counters.")


def study(*specs, kind="compare", **changes):
    workload = Workload(("a", "b"), "a", metrics=metrics(list(specs)), **changes)
    options = (CompareOptions if kind == "compare" else RunOptions).of({})
    return Study(kind, (workload, replace(workload, name="c")), options=options.to_json())


def specs(result):
    return [[metric.spec for metric in workload.metrics] for workload in result.workloads]


def test_the_processor_counts_where_it_can():
    result, (finding,) = with_counter(Machine(counts=True), study(INSTRUCTIONS, "time:wall"), dangerous=False)
    assert specs(result) == [[HARDWARE, "time:wall"]] * 2
    assert "by the processor" in finding.sentence
    assert result.options == study(INSTRUCTIONS).options


@pytest.mark.parametrize("spec", [INSTRUCTIONS, CALLGRIND])
def test_callgrind_counts_twice_without_other_metrics(spec):
    result, findings = with_counter(Machine(counts=False), study(spec, "time:wall"), dangerous=False)
    assert specs(result) == [[CALLGRIND]] * 2
    assert ["by callgrind" in finding.sentence for finding in findings] == [True, False]
    assert "time:wall" in findings[1].sentence
    options = CompareOptions.from_json(result.options)
    assert (options.runs, options.budget_ns, options.warmup, options.precision) == (2, None, 0, None)
    assert options.fastest is False


def test_callgrind_can_be_asked_for_where_the_processor_counts():
    result, _ = with_counter(Machine(counts=True), study(CALLGRIND, kind="run"), dangerous=False)
    assert specs(result) == [[CALLGRIND]] * 2
    assert RunOptions.from_json(result.options).runs == 2


def test_a_further_metric_does_not_slow_the_first_one():
    result, findings = with_counter(Machine(counts=False), study("time:wall", INSTRUCTIONS), dangerous=False)
    assert specs(result) == [["time:wall", HARDWARE]] * 2, "whether it can be measured is the next question"
    assert findings == ()


def test_studies_without_instructions_stay_as_they_are():
    before = study("time:wall")
    assert with_counter(Machine(counts=False), before, dangerous=False) == (before, ())


def test_other_refusals_are_passed_on():
    with pytest.raises(RefusedError, match="priority"):
        with_counter(
            Machine(counts=True, error=RefusedError("A priority is refused.")), study(INSTRUCTIONS), dangerous=False
        )


def test_programs_that_are_missing_are_left_to_whoever_starts_them():
    machine = Machine(counts=True, error=WorkloadError("There is no program."))
    assert specs(with_counter(machine, study(INSTRUCTIONS), dangerous=False)[0]) == [[HARDWARE]] * 2


@pytest.mark.parametrize("changes", [{"copies": 2}, {"kernel": "spin"}])
def test_callgrind_runs_one_program_by_itself(changes):
    with pytest.raises(UsageError, match="cannot be counted by callgrind"):
        with_counter(Machine(counts=False), study(INSTRUCTIONS, **changes), dangerous=False)


def test_a_program_under_callgrind_keeps_its_own_environment():
    workload = Workload(("a",), "a", environment=(("PYTHONHASHSEED", "7"),), metrics=metrics(CALLGRIND))
    wire = workload.to_wire()
    assert wire["argv"][0] == "valgrind"
    assert wire["argv"][-2:] == ["--", "a"]
    assert wire["environment"] == {"PYTHONHASHSEED": "7", "PERL_HASH_SEED": "0"}
    assert wire["metrics"][0]["take"] == "sum"
    assert counting_environment(()) == (("PYTHONHASHSEED", "0"), ("PERL_HASH_SEED", "0"))


def test_unit_and_match_cannot_be_chosen_for_counts():
    with pytest.raises(UsageError, match="leave out unit= and take="):
        becalm.run("true", host="null", metric="instructions,unit=ms", store=False)
