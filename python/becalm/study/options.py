"""The options that `run` and `compare` have in common, as people give them, and sorting them out.

`options` splits keyword arguments into `MeasureOptions` (how long, where, from which seed, into which store) and the
fields of a Workload.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from becalm.analysis.contamination import USUAL, Rule, rule
from becalm.errors import UsageError
from becalm.nouns.option import refuse_unknown
from becalm.nouns.progress import ProgressListener
from becalm.nouns.settings import Settings
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.workload import CommandLine, ProgramKeywords, Workload
from becalm.report.program_output import PassOn
from becalm.units import fraction, limit_ns


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How to measure.

    `budget` seconds or text ("30s", "none"), `precision` a fraction or text ("0.5%"), `runs` and `warmup` in rounds.
    `store`: None for the default store, False to keep nothing, else a file or URL. `root`: act on a directory that
    looks like `/` instead of the machine. `dangerous`: consent to settings that can make the machine hard to use.
    `allow_reboot`: consent to restarts of another machine, for settings of the boot.
    `group`: what the studies of one measurement on several hosts have in common (`becalm.study.multi_host`).
    `load`: record what else the machine did around each run. `drop_contaminated`: a rule ("cpu>20%") by which whole
    rounds are left out for what others did meanwhile.
    """

    runs: int | None = None
    budget: float | str | None = None
    precision: float | str | None = None
    warmup: int = 1
    seed: int | None = None
    settings: Mapping[str, str | int | bool] | Settings | None = None
    confidence: float = 0.95
    host: str = "local"
    store: str | bool | None = None
    user: str | None = None
    sudo: bool = False
    root: str | None = None
    dangerous: bool = False
    load: bool = True
    drop_contaminated: str | None = None
    allow_reboot: bool = False
    title: str = ""
    group: str = ""
    listener: ProgressListener = field(default_factory=PassOn)

    @property
    def place(self) -> str | None:
        """The store's file or URL; None for the usual one."""
        return self.store if isinstance(self.store, str) else None

    @property
    def rule(self) -> Rule:
        """By which rounds are contaminated: the one asked for, else the usual one. Raises UsageError."""
        return USUAL if self.drop_contaminated is None else rule(self.drop_contaminated)

    def goal(self, default_budget: float) -> StoppingRule:
        """The stopping rule; a number of runs alone means no limit in time. Raises UsageError."""
        for what, value, least in (("runs", self.runs, 1), ("warmup", self.warmup, 0)):
            if value is not None and value < least:
                raise UsageError(f"--{what} must be at least {least}, not {value}.")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"--confidence must lie between 0.5 and 1, for example 0.95, not {self.confidence:g}.")
        if self.drop_contaminated is not None and not self.load:
            raise UsageError("--drop-contaminated needs the record of load. Leave --no-load out.")
        unlimited = self.budget is None and self.runs is not None
        return StoppingRule(
            budget_ns=None if unlimited else limit_ns(default_budget if self.budget is None else self.budget),
            runs=self.runs,
            precision=None if self.precision is None else fraction(self.precision),
            warmup=self.warmup,
        )

    def study(
        self, kind: str, workloads: Sequence[Workload], goal: StoppingRule, reference: int, fail_above: float | None
    ) -> Study:
        """The study these options ask for; a seed is drawn when none was given, and kept with it."""
        return Study(
            kind=kind,
            workloads=tuple(workloads),
            settings=(Settings.of(self.settings),),
            options={
                **dataclasses.asdict(goal),
                "confidence": self.confidence,
                "reference": reference,
                "fail_above": fail_above,
                **({"group": self.group} if self.group else {}),
                **({"drop_contaminated": self.rule.text} if self.drop_contaminated is not None else {}),
            },
            seed=int.from_bytes(os.urandom(4), "big") if self.seed is None else self.seed,
            host=self.host,
            title=self.title,
        )


_MEASURING = {each.name for each in dataclasses.fields(MeasureOptions)}


def options(given: Mapping[str, Any]) -> tuple[MeasureOptions, ProgramKeywords]:
    """Split keyword options; raises UsageError with the nearest name for one that does not exist."""
    refuse_unknown(given, CommandLine, Workload, also=tuple(_MEASURING))
    measuring = {name: value for name, value in given.items() if name in _MEASURING}
    if measuring.get("listener", ...) is None:
        del measuring["listener"]
    program = {name: value for name, value in given.items() if name not in _MEASURING}
    return MeasureOptions(**measuring), cast(ProgramKeywords, program)
