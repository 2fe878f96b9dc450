"""`becalm suite`: a suite of one's own programs, rated against reference times as SPEC rates its own.

`suite` reads the file (`becalm.workloads.suite`), measures each program alone and in copies, in base and peak, in
randomly ordered rounds, as one study of kind "suite", and rates what came out (`becalm.analysis.rated_runs`, which says
what its workloads are); its settings are those of the tunings.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from becalm.analysis.diagnostics import failure_numbers
from becalm.analysis.rated_runs import Cell, cells, ratings
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.nouns.rating import Ratings
from becalm.nouns.run import Block, Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import Workload
from becalm.report.suite import copies as counted
from becalm.report.suite import sentence as concluding
from becalm.study.measure import measure
from becalm.study.options import options as sort_options
from becalm.study.session import open_session
from becalm.wording import measurement
from becalm.workloads.asked import Asked
from becalm.workloads.suite import Listed, Suite, read

RUNS = 3
"""As SPEC's rules have it: three runs, the median counts."""

TUNINGS = ("base", "peak")


@dataclass(slots=True)
class _Rounds:
    """The runs of a suite as they come, and the plan: each round runs everything once in random order."""

    cells: Sequence[Cell]
    runs: int
    rng: np.random.Generator
    rows: list[Run] = field(default_factory=list)
    next_seq: int = 0
    round: int = -1
    interrupted: bool = False
    failure: Run | None = None

    def extend(self, rows: Sequence[Run]) -> None:
        """Take finished runs. A program that fails does not end the suite: it has no rating."""
        self.rows += rows
        self.next_seq = self.rows[-1].seq + 1

    def plan(self, history: _Rounds) -> Block | None:
        """The next round; the first one is a warm-up of each program alone."""
        number, self.round = self.round, self.round + 1
        if number == self.runs:
            return None
        chosen = [index for index, cell in enumerate(self.cells) if number >= 0 or not cell.together]
        order = [chosen[index] for index in self.rng.permutation(len(chosen))]
        return Block(tuple(Step(index, self.cells[index].tuning, 0, number) for index in order))


def suite(
    file: str,
    *,
    tuning: str | None = None,
    copies: int | None = None,
    rates: bool = True,
    **options: Any,
) -> Ratings:
    """Rate all programs of a file.

    Arguments:
        file: a TOML file (docs/how-to/suite.md).
        tuning: "base", "peak", or None for base and, where the file has one, peak.
        copies: for the rate; None: what the file says, else the number of processors of the host.
        rates: False leaves the rate out.
        options: those of `Measuring` (host, store, settings, seed, sudo, dangerous, user, title, listener; `runs`, 3 by
            default) and of `Workload`, which hold for all programs where the file says nothing else.

    Raises UsageError, MachineError, StoreError, and WorkloadError when not one run of any program ended well.
    """
    measuring, workload = sort_options(options)
    if measuring.budget is not None or measuring.precision is not None:
        raise UsageError("A suite is measured in whole rounds: say how many with --runs, without budget or precision.")
    if tuning not in (None, *TUNINGS):
        raise UsageError(f"There is no tuning {tuning!r}: base or peak.")
    asked = Asked.of(None, measuring.user, workload)
    found = read(file, asked)
    names = _tunings(found, tuning, file)
    runs = RUNS if measuring.runs is None else measuring.runs
    if runs < 1:
        raise UsageError(f"A suite needs at least one round, not {runs}.")
    given = Settings.of(measuring.settings)
    with open_session(measuring, "becalm suite") as opened:
        number = copies or found.copies or _processors(opened.host.facts()) if rates else None
        workloads = _workloads(found, names, number)
        settings = tuple(_settings(found, name, given) for name in names)
        study = measuring.study("suite", workloads, StoppingRule(runs=runs), 0, None)
        about = {
            "suite": found.name,
            "tunings": list(names),
            "copies": number,
            "programs": [each.workload.name for each in found.programs],
            "references_ns": [each.reference_ns for each in found.programs],
        }
        study = replace(study, settings=settings, options={**study.options, **about})
        opened.host.define(study.workloads, study.settings, dangerous=measuring.dangerous)
        opened.begin(study)
        state = _Rounds(cells(len(names), len(found.programs), number), runs, np.random.default_rng(study.seed))
        measuring.listener.started(
            opened.shown, measurement.short([each.name for each in workloads]), StoppingRule(runs=runs)
        )
        # When a program fails, the others are rated all the same.
        measure(opened.host, state.plan, state, opened.take, detail=opened.detail, stop_on_failure=False)
        opened.settle()
        if not any(run.outcome == Outcome.OK and run.round >= 0 for run in state.rows):
            raise _nothing(state, workloads, opened.store.texts(opened.number or 0))
        made = ratings(about, settings, state.rows, study=opened.shown, host=measuring.host, runs=runs)
        return replace(made, sentence=concluding(made))


def _tunings(found: Suite, wanted: str | None, file: str) -> tuple[str, ...]:
    if wanted == "peak" and not found.has_peak:
        raise UsageError(
            f"{file} says nothing of peak. Give it a table [peak] with settings, or a program a line peak_command = …"
        )
    if wanted is not None:
        return (wanted,)
    return TUNINGS if found.has_peak else TUNINGS[:1]


def _processors(facts: dict[str, Any]) -> int:
    """What the programs may use on that machine; of a host that does not say, what becalm may use here."""
    return (facts.get("cpu") or {}).get("allowed_count") or len(os.sched_getaffinity(0))


def _workloads(found: Suite, names: Sequence[str], copies: int | None) -> list[Workload]:
    workloads: list[Workload] = []
    for cell in cells(len(names), len(found.programs), copies):
        name, number = names[cell.tuning], copies or 1
        made = _chosen(found.programs[cell.program], name)
        mark = f" ({name}, {counted(number)})" if cell.together else f" ({name})"
        shown = made.name + (mark if cell.together or len(names) > 1 else "")
        workloads.append(replace(made, name=shown, copies=number if cell.together else 1))
    return workloads


def _chosen(listed: Listed, name: str) -> Workload:
    return listed.peak if name == "peak" else listed.workload


def _settings(found: Suite, name: str, given: Settings) -> Settings:
    own = found.peak if name == "peak" and found.peak is not None else found.base
    return Settings.of({**dict(own.values), **dict(given.values)})


def _nothing(state: _Rounds, workloads: Sequence[Workload], texts: dict[int, tuple[str, str]]) -> Exception:
    failed = next((run for run in state.rows if run.outcome not in (Outcome.OK, Outcome.ABORTED)), None)
    if failed is None:
        return MachineError("Interrupted before the first round was finished: nothing can be said yet.")
    stderr = texts.get(failed.seq, ("", ""))[0]
    return WorkloadError(measurement.failure(workloads[failed.workload].name, failure_numbers(failed, stderr, 0)))
