"""The rating of a suite: values only, with one JSON form (docs/reference/json.md)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.codec import Json
from becalm.nouns.metric import Better
from becalm.nouns.result import Result


class Rated(msgspec.Struct, frozen=True):
    """A program of a suite. Times in ns, one per good run: `times_ns` of one copy, `rate_times_ns` of all copies.

    `delay`: how many times as long a run of all copies takes as one of a single copy. `failed`: runs that did not end
    well, which do not count. `contaminated`: runs of one copy during which there was other load; then `cpu_ratio` is
    the ratio from CPU time, which counts no waiting. Fields without a measurement are empty or None.

    `metric`: what the program prints that is rated in place of its time, empty for none: in `unit`, `values` one per
    good run, `median` and `reference` of them.
    """

    name: str
    reference_ns: int | None
    times_ns: tuple[int, ...] = ()
    rate_times_ns: tuple[int, ...] = ()
    median_ns: float | None = None
    ratio: float | None = None
    rate_median_ns: float | None = None
    rate: float | None = None
    delay: float | None = None
    failed: int = 0
    contaminated: int = 0
    cpu_ratio: float | None = None
    metric: str = ""
    unit: str = ""
    better: Better = Better.LOWER
    reference: float | None = None
    values: tuple[float, ...] = ()
    median: float | None = None


class Tuning(msgspec.Struct, frozen=True):
    """All programs under one tuning, base or peak; `ratio` and `rate` are geometric means over the programs."""

    name: str
    settings: Mapping[str, Json]
    programs: tuple[Rated, ...]
    ratio: float | None
    rate: float | None


class Ratings(Result, frozen=True):
    """The result of a suite. `copies` None: rates were not measured. `standing`: settings applied before, and still.

    `emulated`: why times are not those of a real processor; empty where they are.
    """

    KIND = "suite"

    suite: str
    study: int | None
    host: str
    runs: int
    copies: int | None
    tunings: tuple[Tuning, ...]
    sentence: str = ""
    standing: Mapping[str, Json] = msgspec.field(default_factory=dict)
    emulated: str = ""

    @property
    def exit_code(self) -> int:
        """4 when a run did not end well (docs/reference/exit-codes.md)."""
        return 4 if self.failed else 0

    @property
    def by_metric(self) -> bool:
        """Whether a program is rated by what it prints."""
        return any(program.metric for tuning in self.tunings for program in tuning.programs)

    @property
    def failed(self) -> int:
        """Runs that did not end well."""
        return sum(program.failed for tuning in self.tunings for program in tuning.programs)
