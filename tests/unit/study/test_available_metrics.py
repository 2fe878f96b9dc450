"""A further metric that a machine cannot measure does not cost the first one."""

import pytest
from tests.support.listeners import Heard

from becalm.errors import RefusedError, WorkloadError
from becalm.nouns.metric import metrics
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.study.available_metrics import without_unmeasurable

FIRST = "time: ([0-9.]+)"


class Machine:
    """A host that cannot measure some metrics, and may lack the programs."""

    def __init__(self, *lacking, programs=True):
        self.lacking, self.programs = lacking, programs

    def define(self, workloads, settings, *, dangerous=False):
        for metric in [metric for workload in workloads for metric in workload.metrics]:
            if metric.spec in self.lacking:
                raise RefusedError(f"{metric.spec} cannot be measured here: no counters.")
        if not self.programs:
            raise WorkloadError("There is no program.")


def left(machine, *specs):
    listener = Heard()
    workload = Workload(("a",), "a", metrics=metrics(list(specs)))
    study, findings = without_unmeasurable(machine, Study("run", (workload,)), listener, dangerous=False)
    return (
        [metric.spec for metric in study.workloads[0].metrics],
        [finding.sentence for finding in findings],
        listener.warnings,
    )


def test_all_metrics_stay_where_all_can_be_measured():
    assert left(Machine(), FIRST, "counter:cycles") == ([FIRST, "counter:cycles"], [], [])


def test_further_metrics_are_left_out_and_reported():
    left_metrics, sentences, warnings = left(
        Machine("counter:cycles", "counter:instructions"),
        FIRST,
        "counter:cycles",
        "memory:peak",
        "counter:instructions",
    )
    assert left_metrics == [FIRST, "memory:peak"]
    assert sentences == [
        "Left out of the metrics: counter:cycles: no counters.",
        "Left out of the metrics: counter:instructions: no counters.",
    ]
    assert [warning.partition(" ")[0] for warning in warnings] == ["counter:cycles", "counter:instructions"]


def test_the_first_metric_is_refused():
    with pytest.raises(RefusedError, match="counter:cycles cannot be measured"):
        left(Machine("counter:cycles"), "counter:cycles", "memory:peak")


def test_programs_that_are_missing_are_left_to_whoever_starts_them():
    assert left(Machine(programs=False), FIRST, "memory:peak")[0] == [FIRST, "memory:peak"]
