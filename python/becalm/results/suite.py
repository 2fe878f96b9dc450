"""The rating of a suite: values only, with one JSON form (docs/reference/json.md)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.codec import Json
from becalm.nouns.metric import Better
from becalm.nouns.result import Result


class Rated(msgspec.Struct, frozen=True):
    """A program of a suite. Times in ns, one per good run: `times_ns` of one copy, `rate_times_ns` of all copies.

    - `delay`: the time of a run of all copies over that of a single copy
    - `failed`: the number of runs that did not end well, which do not count
    - `contaminated`: the number of runs of one copy during which there was other load; if there are any, `cpu_ratio` is
      the ratio from CPU time, which does not include waiting
    - `metric`: the printed number that is rated in place of the time, empty for none; it has a `unit`, `values`, one
      per good run, and their `median` and `reference`

    Fields without a measurement are empty or None.
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
    """The result of a suite. `copies` None: rates were not measured. `standing`: settings that were applied before and
    stay.

    `emulated`: the reason why times are not those of a real processor; empty where they are.
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
        """The exit code: 4 when a run did not end well, else 0 (docs/reference/exit-codes.md)."""
        return 4 if self.failed else 0

    @property
    def by_metric(self) -> bool:
        """Whether a program is rated by a printed number."""
        return any(program.metric for tuning in self.tunings for program in tuning.programs)

    @property
    def failed(self) -> int:
        """The number of runs that did not end well."""
        return sum(program.failed for tuning in self.tunings for program in tuning.programs)
