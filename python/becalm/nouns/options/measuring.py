"""The options of `run` and `compare`: the stopping rule, the confidence, and the rounds that are left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from becalm.errors import UsageError
from becalm.nouns.option import StudyOptions, option, parse_keywords
from becalm.nouns.stopping_rule import StoppingRule
from becalm.units import fraction, limit_ns


def parse_confidence(value: float | str) -> float:
    """Return a confidence, between 0.5 and 1. Raises UsageError."""
    result = fraction(value, below=math.inf)
    if not 0.5 <= result < 1:
        raise UsageError(f"--confidence must lie between 0.5 and 1, for example 95%, not {value}.")
    return result


def budget(default: str) -> Any:
    """Return the field `budget_ns` of a study with a default."""
    return option(
        default,
        "Time budget: 30s, 2min, none.",
        float | str | None,
        name="budget",
        unit="seconds",
        metavar="DURATION",
        parse=limit_ns,
    )


def confidence(help: str = "Confidence of all intervals together.") -> Any:
    """Return the field `confidence`."""
    return option("95%", help, float | str, unit="fraction", metavar="SHARE", parse=parse_confidence)


def limit() -> Any:
    """Return the field `fail_above`."""
    return option(
        None,
        "Largest slowdown to accept; exit code 1 above it, 5 if undecided.",
        float | str | None,
        shown="none",
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )


def accepted() -> Any:
    """Return the field `undecided`."""
    return option(
        "fail",
        "Treat an undecided slowdown as a pass or a failure.",
        str,
        choices=("pass", "fail"),
    )


def schedule(default: str | None = None, shown: str = "auto for two programs") -> Any:
    """Return the field `schedule`. None: `auto` for two programs by themselves, where it is safe, else turns."""
    return option(
        default,
        "Run in turns, or two at once on two CPUs; auto: the more precise.",
        str if default else str | None,
        choices=("turns", "at-once", "auto"),
        shown=shown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(StudyOptions):
    """The options of measuring one program, which stops at the first limit. `budget_ns`: None for no limit in time."""

    budget_ns: int | None = budget("10s")
    precision: float | None = option(
        None,
        "Stop once half the interval's width is at most this: 0.5%.",
        float | str | None,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )
    runs: int | None = option(
        None,
        "Stop after N rounds; no time budget unless --budget sets one.",
        int | None,
        unit="rounds",
        metavar="N",
        least=1,
    )
    warmup: int = option(1, "Warm-up rounds, not counted.", int, unit="rounds", metavar="N", least=0)
    confidence: float = confidence()
    drop_contaminated: str | None = option(
        None,
        "Leave out rounds disturbed beyond a limit: cpu>20%,steal>5%,page-outs>1,queue>2.",
        str | None,
        metavar="RULE",
    )
    unknown_contamination: str = option(
        "keep",
        "Keep or drop rounds whose disturbance is unknown.",
        str,
        choices=("keep", "drop"),
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments; `runs` without `budget` means no limit in time. Raises UsageError."""
        if keywords.get("budget") is None and keywords.get("runs") is not None:
            keywords = {**keywords, "budget": "none"}
        # A class with slots is made anew, and super() knows the old one.
        return super(RunOptions, cls).of(keywords)

    @property
    def goal(self) -> StoppingRule:
        """The rule by which measuring stops."""
        return StoppingRule(self.budget_ns, self.runs, self.precision, self.warmup)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(RunOptions):
    """The options of a comparison of programs.

    `reference`: the position of the program with which the others are compared; with `to_best` they are compared with
    the best one. `at_once_cpus`: the CPUs of two programs that may run at once; `turns_because`: the reason why they
    may not, although that was requested.
    """

    budget_ns: int | None = budget("30s")
    reference: int = 0
    fail_above: float | None = limit()
    undecided: str = accepted()
    fastest: bool | None = option(
        None,
        "Find the fastest; drop programs that cannot be it.",
        bool | None,
        shown="with --parameter",
        off="--no-fastest",
        off_help="Give every program all rounds.",
    )
    baseline: str | None = option(
        None,
        "Compare with a stored study: number, last or file. Weaker than measuring both.",
        str | int | None,
        metavar="FILE|ID",
        parse=str,
    )
    schedule: str | None = schedule()
    where: bool = option(
        False,
        "Show which functions differ: profile both programs afterwards (perf or callgrind).",
        bool,
    )
    to_best: bool = False
    at_once_cpus: tuple[int, int] | None = None
    turns_because: str = ""


@dataclass(frozen=True, slots=True)
class ComparedPrograms:
    """The names of the programs of a comparison, the variants of which they are made, and the one to compare with.

    `reference`: as it was given, a position or a name; None for the first one.
    """

    names: tuple[str, ...] = option(
        (),
        "Name of each program, in order; or of all variants: 'level {n}'.",
        Sequence[str],
        flag="--name",
        repeats=True,
        parse=tuple,
    )
    prepares: tuple[str, ...] = option(
        (),
        "Run before each run, not timed: one for all programs, or one for each in order.",
        Sequence[str],
        flag="--prepare",
        metavar="CMD",
        repeats=True,
        parse=tuple,
    )
    parameters: tuple[tuple[str, str], ...] = option(
        (),
        "Compare variants: n=1,2,4 or n=1..8 or n=0.5..2..0.5, with {n} in the command.",
        Mapping[str, str],
        flag="--parameter",
        metavar="NAME=VALUES",
        repeats=True,
        parse=lambda mapping: tuple(dict(mapping).items()),
    )
    reference: int | str | None = option(
        None,
        "Program to compare with: position, counted from 0, or name.",
        int | str,
        metavar="N|NAME",
        shown="0",
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(StudyOptions):
    """The options of runs that another tool has measured.

    `order`: the order of its runs; `values`: the kind of its values; as far as the tool states them. `user_ns`,
    `system_ns`: mean CPU times of each program's runs, if the tool reports only means; empty if it reports none.
    """

    source: str = ""
    order: str = "unknown"
    values: str = ""
    user_ns: tuple[float | None, ...] = ()
    system_ns: tuple[float | None, ...] = ()
