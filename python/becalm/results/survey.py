"""The results of a survey of many machines: values only, with one JSON form (docs/reference/json.md)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.result import Result


class Machine(msgspec.Struct, frozen=True):
    """The measurements of one machine. `times_ns`: by work, wall times of shape (loops, runs); `wait_share`: the share
    of the time of all runs spent waiting for a CPU; None where unknown. `emulated`: the reason why its times are not
    those of a real processor; empty where they are."""

    host: str
    kind: str
    study: int | None
    times_ns: Mapping[str, npt.NDArray[np.float64]]
    wait_share: float | None = None
    emulated: str = ""


class SurveyRow(msgspec.Struct, frozen=True):
    """A machine at one piece of work.

    - `slower`: the difference from its peers' centre, a fraction; `noisier`: its spread over their centre, a factor;
      the interval of a machine that is not named holds for this machine only
    - `slower_q`, `noisier_q`: adjusted p values; None where there are too few peers
    """

    host: str
    kind: str
    work: str
    peers: int
    time_ns: float
    spread: float
    slower: Interval
    noisier: Interval
    slower_q: float | None
    noisier_q: float | None


class Outlier(msgspec.Struct, frozen=True):
    """A machine that differs from its peers: `how` is slower or noisier, `size` the fraction or the factor."""

    host: str
    kind: str
    work: str
    how: str
    peers: int
    size: Interval
    q_value: float
    sentence: str = ""


class PeerGroup(msgspec.Struct, frozen=True):
    """Machines of one processor at one piece of work. `between`: the standard deviation of logarithms by which machines
    differ by nature; None for too few machines."""

    kind: str
    work: str
    machines: int
    time_ns: float
    spread: float
    between: float | None


class SurveyResult(Result, frozen=True):
    """The conclusion of a survey.

    - `rate`: the false discovery rate
    - `at_least`: smaller slowdowns are not reported
    - `lost`: by host, the reason why it returned no result
    - `interrupted`: whether one of them was lost because the user ended the survey
    """

    KIND = "survey"

    group: str
    rate: float
    at_least: float
    rows: tuple[SurveyRow, ...]
    named: tuple[Outlier, ...]
    kinds: tuple[PeerGroup, ...]
    studies: Mapping[str, int]
    lost: Mapping[str, str]
    findings: tuple[Finding, ...] = ()
    sentence: str = ""
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code: 130 interrupted before a machine had its turn or was measured long enough, 3 one returned no
        result, 1 one is an outlier, else 0 (docs/reference/exit-codes.md)."""
        return 130 if self.interrupted else 3 if self.lost else 1 if self.named else 0
