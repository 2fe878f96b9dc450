"""CPUs of the programs of a profile, and that a stored profile knows them again."""

from dataclasses import replace

import pytest

from becalm.errors import UsageError
from becalm.hosts.no_machine import refuse_metrics
from becalm.nouns.codec import plain
from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.corun import cells
from becalm.report.document import Document
from becalm.verbs.corun import _alongside, conclude_stored

OPTIONS = CoRunOptions(names=("a", "b"), chips=((0, 4, 1, 5),), cpu=0, alongside_cpus=(1,), threads=2, sibling=4)


def test_a_stored_profile_tells_pairs_on_one_core_from_those_on_two():
    programs = [replace(Workload.of([name]), name=name) for name in OPTIONS.names]
    some = cells(2, 2, threads=True)
    alongside = _alongside(programs, some, [1], 4)
    assert [neighbour.alongside[0].cpus for neighbour in alongside] == ["1", "1", "4", "4"]
    study = Study("corun", (*programs, *alongside), options=plain(OPTIONS))
    seconds = [1.0, 1.0, 1.25, 1.25, 2.0, 2.0]
    runs = [
        Run(
            **dict.fromkeys(COLUMNS)
            | {"seq": 6 * number + workload, "workload": workload, "round": number, "wall_ns": int(program * 1e9),
               "started_ns": 0, "outcome": "ok", "status": 0}
        )
        for number in range(8)
        for workload, program in enumerate(seconds)
    ]  # fmt: skip
    verdict = conclude_stored(Document(study, runs))
    assert round(verdict.degradation("a", ["b"]).cost, 6) == 0.2
    assert round(verdict.on_one_core("a", "b").cost, 6) == 0.5
    assert [(chip.cores, chip.threads, chip.cpus) for chip in verdict.chips] == [(2, 2, (0, 4, 1, 5))]
    assert verdict.left_out == ()


def test_a_host_that_runs_no_program_has_none_alongside_another():
    programs = [replace(Workload.of([name]), name=name) for name in OPTIONS.names]
    with pytest.raises(UsageError, match="Name another --host, or leave --alongside out"):
        refuse_metrics("sim:drift", _alongside(programs, cells(2, 2, threads=False), [1], None))
