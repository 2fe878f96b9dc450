"""The ratings of a suite from the runs of its study, as they come in or read back from a store.

Workloads of such a study are, for each tuning, the programs alone and then, where there are rates, the programs in
copies. Its options say the rest (`becalm.nouns.options.suite`).

Public: Cell, cells, ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.analysis.contamination import DEFAULT_RULE, contaminated_rounds
from becalm.analysis.suite import rated, rated_by, tuning
from becalm.load.record import Load
from becalm.nouns.options.suite import SuiteOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.suite import Rated, Ratings


@dataclass(frozen=True, slots=True)
class RatedCell:
    """What one workload of the study stands for."""

    tuning: int
    program: int
    together: bool


def cells(tunings: int, programs: int, copies: int | None) -> list[RatedCell]:
    """What each workload of a study of so many tunings and programs stands for, in their order."""
    ways = (False,) if copies is None else (False, True)
    return [RatedCell(t, p, way) for t in range(tunings) for way in ways for p in range(programs)]


def ratings(
    options: SuiteOptions,
    settings: Sequence[Settings],
    rows: Sequence[Run],
    loads: Sequence[Load] = (),
    *,
    workloads: Sequence[Workload],
    study: int | None,
    host: str,
) -> Ratings:
    """Figures of all tunings from the counted runs, with what was recorded beside them. The sentence is left to who
    reports."""
    names, copies, references = options.programs, options.copies, options.references_ns
    longest = max((reference for reference in references if reference is not None), default=None)
    places = {cell: index for index, cell in enumerate(cells(len(options.tunings), len(names), copies))}
    counted: dict[int, list[Run]] = {}
    for run in rows:
        if run.round >= 0:
            counted.setdefault(run.workload, []).append(run)

    # Run by run: a program is not rated by what was beside another one in the same round.
    beside = contaminated_rounds([run._replace(round=run.seq) for run in rows], loads, DEFAULT_RULE) if loads else {}

    def good(cell: RatedCell) -> list[Run]:
        return [run for run in counted.get(places.get(cell, -1), []) if run.outcome == Outcome.OK]

    def times(cell: RatedCell) -> tuple[list[int], int]:
        found = counted.get(places.get(cell, -1), [])
        failed = sum(run.outcome not in (Outcome.OK, Outcome.ABORTED) for run in found)
        return [run.took_ns for run in good(cell)], failed

    def one(number: int, program: int) -> Rated:
        alone, failed = times(RatedCell(number, program, False))
        together, also = times(RatedCell(number, program, True))
        mine = good(RatedCell(number, program, False))
        found = rated(
            names[program], references[program], longest, alone, together, copies, failed + also,
            cpu_times_ns=[_cpu_ns(run) for run in mine], contaminated=sum(run.seq in beside for run in mine),
        )  # fmt: skip
        # The workloads of one tuning alone come first, in the order of the programs.
        metrics = workloads[program].metrics if program < len(workloads) else ()
        if not metrics:
            return found
        reference = options.references[program] if options.references else None
        return rated_by(metrics[0], found, reference, [run.metrics[0] for run in mine if run.metrics])

    made = tuple(
        tuning(name, settings[number].to_json(), [one(number, program) for program in range(len(names))])
        for number, name in enumerate(options.tunings)
    )
    rounds = max((run.round for run in rows), default=-1) + 1
    return Ratings(options.suite, study, host, rounds, copies, made)


def _cpu_ns(run: Run) -> int | None:
    return None if run.user_ns is None or run.system_ns is None else run.user_ns + run.system_ns
