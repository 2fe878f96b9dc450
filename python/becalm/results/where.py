"""The functions of two programs in which their difference lies."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Source(StrEnum):
    """The profiler: perf samples the place of a program, callgrind counts the instructions that it executes."""

    SAMPLES = "perf"
    COUNTS = "callgrind"


class Presence(StrEnum):
    """Whether a function is part of both programs; one that was inlined or renamed is part of one of them only."""

    BOTH = "both"
    APPEARED = "appeared"
    DISAPPEARED = "disappeared"


class FunctionDifference(msgspec.Struct, frozen=True):
    """The difference in the cost of one function, without the functions that it calls.

    - `name`: the symbol; `code`: the file name of the program or library
    - `old`, `new`: means of a run, in seconds of CPU time or instructions
    - `share`, `low`, `high`: new - old as a fraction of the old program's total, with its interval
    - `named`: whether the difference is shown
    """

    name: str
    code: str
    old: float
    new: float
    share: float
    low: float
    high: float
    named: bool
    presence: Presence = Presence.BOTH


class Where(msgspec.Struct, frozen=True):
    """The functions in which two programs differ.

    - `old`, `new`: the names of the programs; `totals`: the total cost of each
    - `runs`: the number of runs of each program
    - `functions`: the named ones, then the largest others, at most ten
    - `others`: the number of further ones, and the sum of their shares
    - `rate`: the expected share of false positives among the named functions (0 for exact counts)
    """

    source: Source
    old: str
    new: str
    runs: int
    totals: tuple[float, float]
    functions: tuple[FunctionDifference, ...]
    others: tuple[int, float]
    rate: float

    @property
    def named(self) -> tuple[FunctionDifference, ...]:
        """The functions whose difference is shown, the largest first."""
        return tuple(function for function in self.functions if function.named)
