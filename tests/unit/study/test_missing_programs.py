"""One program that cannot be started does not end a study of several."""

import pytest
from tests.support.listeners import Heard

from becalm.errors import WorkloadError
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.run_log import RunLog
from becalm.store import Store
from becalm.study.missing_programs import define, note_missing


class Machine:
    """A host that knows some programs."""

    def __init__(self, *known):
        self.known, self.defined = known, []

    def define(self, workloads, settings, *, dangerous=False):
        for workload in workloads:
            if workload.argv[0] not in self.known:
                raise WorkloadError(f"There is no program {workload.argv[0]!r}.")
        self.defined = [workload.argv[0] for workload in workloads]


def defined(machine, names, least=1):
    listener = Heard()
    workloads = [Workload.of([name]) for name in names]
    missing = define(machine, workloads, [Settings()], listener, dangerous=False, least=least)
    return missing, listener.warnings


def test_all_programs_are_defined_where_all_are_there():
    machine = Machine("a", "b")
    assert defined(machine, "ab") == ({}, [])
    assert machine.defined == ["a", "b"]


def test_missing_programs_are_reported_and_the_others_keep_their_places():
    machine = Machine("b", "d")
    missing, warnings = defined(machine, "abcad")
    assert missing == {
        0: "There is no program 'a'.",
        2: "There is no program 'c'.",
        3: "There is no program 'a'.",
    }
    assert warnings == [
        "There is no program 'a'. The others are measured all the same.",
        "There is no program 'c'. The others are measured all the same.",
    ]
    assert machine.defined == ["b", "b", "b", "b", "d"]


@pytest.mark.parametrize(("names", "least"), [("xy", 1), ("ax", 2)])
def test_too_few_programs_end_the_study(names, least):
    with pytest.raises(WorkloadError, match="There is no program 'x'"):
        defined(Machine("a"), names, least)


def test_a_program_that_cannot_start_is_a_refused_run_with_its_reason(tmp_path):
    with Store.open(str(tmp_path / "runs.db")) as store:
        number = store.begin(Study(kind="suite", workloads=(Workload.of("a"), Workload.of("b"))), {})
        log = RunLog(goes_on=True)
        note_missing(store, number, log, {1: "There is no program 'b'."})
        (run,) = store.runs(number)
        assert (run.workload, run.outcome, run.seq) == (1, "refused", 0)
        assert store.texts(number) == {0: ("There is no program 'b'.", "")}
    assert log.rows == [run]
