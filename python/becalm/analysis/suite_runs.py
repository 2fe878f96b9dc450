"""The ratings of a suite from the runs of its study, during measuring or read from a store.

The workloads of such a study are, for each tuning, the programs alone and then, where there are rates, the programs in
copies. Its options state the rest (`becalm.nouns.options.suite`).

Public: RatedCell, cells, ratings.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from becalm.analysis.contamination import DEFAULT_RULE, contaminated_rounds
from becalm.analysis.suite import rate_by_metric, rate_program, tuning
from becalm.load.record import Load
from becalm.nouns.options.suite import SuiteOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.suite import Rated, Ratings


class RatedCell(msgspec.Struct, frozen=True):
    """The tuning and program that a workload of the study belongs to, and whether it runs in copies."""

    tuning: int
    program: int
    together: bool


def cells(tunings: int, programs: int, copies: int | None) -> list[RatedCell]:
    """Return the cell of each workload of a study, in their order."""
    modes = (False,) if copies is None else (False, True)
    return [
        RatedCell(tuning, program, together)
        for tuning in range(tunings)
        for together in modes
        for program in range(programs)
    ]


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
    """Return the figures of all tunings from the counted runs and the recorded loads; the caller adds the sentence."""
    names, copies, references = options.programs, options.copies, options.references_ns
    longest = max((reference for reference in references if reference is not None), default=None)
    places = {cell: index for index, cell in enumerate(cells(len(options.tunings), len(names), copies))}
    counted: dict[int, list[Run]] = {}
    for run in rows:
        if run.round >= 0:
            counted.setdefault(run.workload, []).append(run)

    # Run by run: a program's rating does not depend on load during another program of the same round.
    contaminated_seqs = (
        contaminated_rounds([run._replace(round=run.seq) for run in rows], loads, DEFAULT_RULE) if loads else {}
    )

    def good_runs(cell: RatedCell) -> list[Run]:
        return [run for run in counted.get(places.get(cell, -1), []) if run.outcome == Outcome.OK]

    def times(cell: RatedCell) -> tuple[list[int], int]:
        runs = counted.get(places.get(cell, -1), [])
        failed = sum(run.outcome not in (Outcome.OK, Outcome.ABORTED) for run in runs)
        return [run.took_ns for run in good_runs(cell)], failed

    def rate_cell(number: int, program: int) -> Rated:
        single_times, failed = times(RatedCell(number, program, False))
        copies_times, failed_copies = times(RatedCell(number, program, True))
        single_runs = good_runs(RatedCell(number, program, False))
        program_figures = rate_program(
            names[program], references[program], longest, single_times, copies_times, copies, failed + failed_copies,
            cpu_times_ns=[_cpu_ns(run) for run in single_runs],
            contaminated=sum(run.seq in contaminated_seqs for run in single_runs),
        )  # fmt: skip
        # The workloads of one tuning alone come first, in the order of the programs.
        metrics = workloads[program].metrics if program < len(workloads) else ()
        if not metrics:
            return program_figures
        reference = options.references[program] if options.references else None
        return rate_by_metric(
            metrics[0], program_figures, reference, [run.metrics[0] for run in single_runs if run.metrics]
        )

    tunings = tuple(
        tuning(name, settings[number].to_json(), [rate_cell(number, program) for program in range(len(names))])
        for number, name in enumerate(options.tunings)
    )
    rounds = max((run.round for run in rows), default=-1) + 1
    return Ratings(options.suite, study, host, rounds, copies, tunings)


def _cpu_ns(run: Run) -> int | None:
    return None if run.user_ns is None or run.system_ns is None else run.user_ns + run.system_ns
