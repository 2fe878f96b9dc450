"""The ratings of a suite from the runs of its study, as they come in or read back from a store.

Workloads of such a study are, for each tuning, the programs alone and then, where there are rates, the programs in
copies. Its options say the rest (`becalm.nouns.options.suite`).

Public: Cell, cells, ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from becalm.analysis.rating import rated, tuning
from becalm.nouns.options.suite import SuiteOptions
from becalm.nouns.rating import Ratings
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings


@dataclass(frozen=True, slots=True)
class Cell:
    """What one workload of the study stands for."""

    tuning: int
    program: int
    together: bool


def cells(tunings: int, programs: int, copies: int | None) -> list[Cell]:
    """What each workload of a study of so many tunings and programs stands for, in their order."""
    ways = (False,) if copies is None else (False, True)
    return [Cell(t, p, way) for t in range(tunings) for way in ways for p in range(programs)]


def ratings(
    options: SuiteOptions, settings: Sequence[Settings], rows: Sequence[Run], *, study: int | None, host: str
) -> Ratings:
    """Figures of all tunings from the counted runs. The sentence is left to who reports."""
    names, copies, references = options.programs, options.copies, options.references_ns
    longest = max((each for each in references if each is not None), default=None)
    places = {cell: index for index, cell in enumerate(cells(len(options.tunings), len(names), copies))}
    counted: dict[int, list[Run]] = {}
    for run in rows:
        if run.round >= 0:
            counted.setdefault(run.workload, []).append(run)

    def times(cell: Cell) -> tuple[list[int], int]:
        found = counted.get(places.get(cell, -1), [])
        good = [run.wall_ns for run in found if run.outcome == Outcome.OK]
        return good, sum(run.outcome not in (Outcome.OK, Outcome.ABORTED) for run in found)

    def one(number: int, program: int) -> Any:
        alone, failed = times(Cell(number, program, False))
        together, also = times(Cell(number, program, True))
        return rated(names[program], references[program], longest, alone, together, copies, failed + also)

    made = tuple(
        tuning(name, settings[number].to_json(), [one(number, program) for program in range(len(names))])
        for number, name in enumerate(options.tunings)
    )
    rounds = max((run.round for run in rows), default=-1) + 1
    return Ratings(options.suite, study, host, rounds, copies, made)
