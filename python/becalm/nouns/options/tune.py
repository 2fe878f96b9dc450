"""The options of `tune`: the search, the confirmation, and the settings that the host allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import msgspec

from becalm.errors import UsageError
from becalm.nouns.abort_limit import AbortLimit
from becalm.nouns.excluded import Excluded
from becalm.nouns.metric import EXAMPLE, Metric, Response
from becalm.nouns.objective import find, goals, names
from becalm.nouns.option import StudyOptions, option, options
from becalm.nouns.options.measuring import budget, confidence
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.nouns.swarm import SwarmParameters
from becalm.nouns.workload import Workload
from becalm.units import fraction

LEAST_RUNS = 60
"""The smallest number of runs of a search without a budget: a search with fewer runs would only guess."""

CONFIRM_RUNS = 5
"""The smallest number of runs in a row of a loop of the confirmation."""

LOOP_NS = 1_000_000_000
"""The least time of a loop's runs in a row, ns, if a spread is minimised: disturbances come and go within about a
second, and a shorter loop mostly lies within one or outside of it."""


MOST_IN_A_ROW = 100
"""The largest number of runs in a row of a loop, for short programs."""

DESIGNS = ("sequential", "composite")
"""The designs of --method surface, the default first. Studies of becalm 0.1 have the second one."""


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


METRIC = "metric"
"""The value of `minimize` for the mean of a metric; it is stored as `time` with a `metric`."""

SEARCHING = (
    "method",
    "threshold",
    "loops",
    "runs",
    "warmups",
    "most_runs",
    "abort_above",
    "design",
    "path",
    "probes",
    "swarm",
    "sampler",
)
"""The options of a search, which have no effect with --try."""

CHOOSING = ("only", "without", "preserve_multicore", "factors")
"""The options that restrict the choices of a search."""


def refuse_unused(keywords: Mapping[str, object]) -> None:
    """Raise UsageError for an option that has no effect together with another one."""
    meant = {
        name: value for name, value in keywords.items() if value is not None and value is not False and value != ()
    }
    if "tried" in meant and (unused := [name for name in (*SEARCHING, *CHOOSING) if name in meant]):
        raise UsageError(f"--try does not search, so {flag(unused[0])} would have no effect. Leave one of them out.")
    if meant.get("schedule", "turns") != "turns" and keywords.get("minimize", "spread") not in ("time", METRIC):
        raise UsageError(
            "--schedule applies to the confirmation of mean times: add --minimize time, or leave out --schedule."
        )
    if "factors" in meant and "only" in meant:
        raise UsageError("--factor and --only both choose the settings to vary. Leave one of them out.")
    if keywords.get("minimize") == "time" and "metric" in meant:
        raise UsageError("--minimize time is for wall time, and --metric names another metric: use --minimize metric.")
    if keywords.get("minimize", "spread") not in ("time", METRIC):
        _refuse_no_sweep(meant)
    elif "threshold" in meant:
        raise UsageError(
            f"--threshold is a limit on the spread, and --minimize {keywords['minimize']} is for a mean. Leave "
            "one of them out."
        )
    if keywords.get("single_out") is False and "margin" in meant:
        raise UsageError(
            "--margin applies to the effect of each setting, which --no-single-out does not measure. Leave one of "
            "them out."
        )


def _refuse_no_sweep(meant: Mapping[str, object]) -> None:
    """Raise UsageError for factors that cannot be swept for the spread: only one setting can, without a method."""
    if "factors" not in meant:
        return
    named = meant["factors"]
    factors = (named,) if isinstance(named, str) or not isinstance(named, Sequence) else tuple(named)
    if len(factors) > 1:
        raise UsageError(
            f"A sweep for the spread varies one setting, and {len(factors)} are named. Name one --factor; or add "
            "--minimize time, which varies several; or name settings to try: --only KNOB."
        )
    if "method" in meant:
        raise UsageError(
            "--factor sweeps one setting for the spread, and --method searches among many. Leave one of them out."
        )


def refuse_without_metric(keywords: Mapping[str, object], programs: Sequence[Workload]) -> None:
    """Raise UsageError where the mean of a metric is to be minimised and no metric is named."""
    if keywords.get("minimize") == METRIC and (
        lacking := [program.name for program in programs if not program.metrics]
    ):
        of = "" if len(lacking) == len(programs) else f" of {lacking[0]}"
        raise UsageError(f"--minimize metric needs the metric{of}: --metric SPEC, for example {EXAMPLE}.")


def with_source_metric(
    options: TuneOptions, keywords: Mapping[str, object], programs: Sequence[Workload]
) -> TuneOptions:
    """Return the options with the metric of the programs' source, if a metric is minimised and the options name none.

    Raises UsageError if programs have no metric, or their first metrics differ.
    """
    refuse_without_metric(keywords, programs)
    if keywords.get("minimize") != METRIC or options.metric is not None:
        return options
    first = programs[0].metrics[0]
    if other := [program for program in programs if program.metrics[0] != first]:
        raise UsageError(
            f"{programs[0].name} is measured by {first.name}, and {other[0].name} by "
            f"{other[0].metrics[0].name}. Name one metric for all programs: --metric SPEC."
        )
    return replace(options, metric=first)


def flag(name: str) -> str:
    """Return the flag of an option of TuneOptions."""
    return options(TuneOptions)[name].flag


class Allowed(msgspec.Struct, frozen=True):
    """The settings that a host allows, probed before the study begins and stored, so that a resumed study has the same.

    `tried`: settings to try instead of searching, by name. `partial`: profiles to compare with, and the knobs that this
    host lacks of each. `boot_ns`: the time of a boot, 0 if it takes none or is unknown. `lost`: boot settings that are
    not tried, with their rationales. `privileged`: whether settings of the machine itself can be changed.
    """

    space: Space = msgspec.field(default_factory=lambda: Space(()))
    excluded: tuple[Excluded, ...] = ()
    tried: tuple[tuple[str, Settings], ...] = ()
    partial: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    boot_ns: int = 0
    lost: Mapping[str, str] = msgspec.field(default_factory=dict)
    privileged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions(StudyOptions):
    """The options of a search and its confirmation; None stands for the default of the method.

    A trial is `loops` times `runs` runs after `warmups` loops. `least_runs`: the smallest number of runs of the search,
    however small the budget. `user`, `dangerous`, `allow_reboot`: the person's consent, for resuming the study.
    `metric`: the metric in place of wall time; `minimize` is then `spread`, or `time` for its mean. `loop_ns`: the
    least time of a loop whose number of runs is not set. `at_once_cpus`: the CPUs of a confirmation that runs two arms
    at the same time; `turns_because`: the reason why it does not, although that was requested.
    """

    budget_ns: int | None = budget("5min")
    confidence: float = confidence("Confidence of each single interval.")
    method: str = option(
        None,
        "Search method: race, greedy, fast, anneal, surface, swarm, golden or bayes.",
        str | None,
        shown="race; for time surface",
        kept="",
    )
    minimize: str = option(
        "spread",
        "Minimise the spread of runs, the mean time, or the mean of --metric.",
        str,
        choices=(*goals(), METRIC),
    )
    objective: str = option(
        names("spread")[0],
        f"Measure of spread: {'; '.join(f'{name}, {find(name).what}' for name in names('spread'))}.",
        str,
        choices=names("spread"),
    )
    threshold: float = option(
        None,
        "Stop once the spread is at most this: 0.5%.",
        float | str | None,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
        kept=0.0,
    )
    margin: float = option(
        None,
        "Ignore losses below this when a setting is left out.",
        float | str | None,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
        shown="25%; 1% of time",
        kept=0.0,
    )
    loops: int | None = option(None, "Loops per trial.", int | None, metavar="N", shown="the method's", least=1)
    runs: int | None = option(
        None,
        "Runs in a row per loop.",
        int | None,
        metavar="N",
        shown="the method's; in a race, one second of them",
        least=1,
    )
    warmups: int | None = option(
        None, "Warm-up loops before a trial, not counted.", int | None, metavar="N", shown="the method's", least=0
    )
    most_runs: int | None = option(None, "Maximum number of runs of the search.", int | None, metavar="N", least=1)
    abort_above: AbortLimit | None = option(
        None,
        "End a run of the search early: above 3x the best so far, or above 2s. It counts as slow.",
        str | AbortLimit | None,
        metavar="TIMES|DURATION",
        parse=AbortLimit.parse,
    )
    design: str = option(
        DESIGNS[0],
        "Runs of --method surface: one by one, or a whole design first.",
        str,
        choices=DESIGNS,
    )
    path: str = option(
        "",
        "Line of --method golden: slice, many-tasks, few-tasks, diagonal or a factor, with N tasks.",
        str,
        metavar="PATH[:N][:log]",
        shown="the only factor",
    )
    probes: int = option(8, "Maximum number of places that --method golden tries.", int, metavar="N", least=2)
    swarm: SwarmParameters = option(
        "",
        "For --method swarm: omega, phi, particles, iterations, evaluations: omega=0.44,particles=20.",
        str | SwarmParameters,
        metavar="NAME=NUMBER,…",
        parse=SwarmParameters.parse,
        kept=SwarmParameters(),
    )
    sampler: str = option(
        "tpe",
        "Sampler of --method bayes: tpe, or gp, which needs PyTorch.",
        str,
        choices=("tpe", "gp"),
    )
    only: tuple[str, ...] = option(
        (), "Try only this setting.", str | Sequence[str], metavar="KNOB", repeats=True, parse=_names
    )
    without: tuple[str, ...] = option(
        (), "Do not try this setting.", str | Sequence[str], metavar="KNOB", repeats=True, parse=_names
    )
    factors: tuple[str, ...] = option(
        (),
        "Setting to vary: slice_ns=0.1..100ms:log, policy=other,batch.",
        str | Sequence[str],
        flag="--factor",
        metavar="KNOB[=RANGE|CHOICES][:log]",
        shown="all allowed",
        repeats=True,
        parse=_names,
    )
    preserve_multicore: bool = option(False, "Try no setting that keeps a program on fewer CPUs.", bool)
    confirm_loops: int = option(
        12, "Loops of the confirmation; undecided settings get more.", int, metavar="N", least=2
    )
    confirm_runs: int | None = option(
        None,
        "Runs in a row per loop of the confirmation.",
        int | None,
        metavar="N",
        shown="5, or one second of them",
        least=2,
    )
    single_out: bool = option(
        True,
        "Measure what each setting contributes.",
        bool,
        flag="",
        off="--no-single-out",
        off_help="Do not measure what each setting contributes.",
    )
    compare_profiles: bool = option(
        True,
        "Compare with the profiles that come with becalm.",
        bool,
        flag="",
        off="--no-profiles",
        off_help="Do not compare with llvm-tips and pyperf.",
    )
    tried: tuple[str, ...] = option(
        (),
        "Do not search; try this profile.",
        str | Sequence[str],
        flag="--try",
        metavar="PROFILE",
        repeats=True,
        parse=_names,
    )
    schedule: str = option(
        "turns",
        "With --minimize time: confirm in turns or at once; auto: at once if that is safe.",
        str,
        choices=("turns", "at-once", "auto"),
    )
    at_once_cpus: tuple[int, int] | None = None
    turns_because: str = ""
    least_runs: int = 1
    user: str | None = None
    dangerous: bool = False
    allow_reboot: bool = False
    allowed: Allowed = field(default_factory=Allowed)
    metric: Metric | None = None
    loop_ns: int = LOOP_NS

    def in_a_row(self, fewest: int, run_ns: float) -> int:
        """Return the number of runs in a row that take `loop_ns`, at least `fewest`. `run_ns`: the time of a run."""
        return max(fewest, min(MOST_IN_A_ROW, math.ceil(self.loop_ns / max(1.0, run_ns))))

    def confirming(self, run_ns: float) -> int:
        """Return the number of runs in a row of a loop of the confirmation. `run_ns`: the time of a run.

        The precision of a mean depends on the variance between loops, so that its loops may be short.
        """
        if self.confirm_runs is not None:
            return self.confirm_runs
        return CONFIRM_RUNS if self.minimize == "time" else self.in_a_row(CONFIRM_RUNS, run_ns)

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments. Raises UsageError.

        Without a budget the search has a least number of runs.
        """
        first = Response.of(keywords).metrics[:1]
        # `time` minimises the mean of the response, which is the metric if there is one.
        goal = {**keywords, "minimize": "time"} if keywords.get("minimize") == METRIC else keywords
        options = replace(super(TuneOptions, cls).of(goal), metric=first[0] if first else None)
        return options if keywords.get("budget") is not None else replace(options, least_runs=LEAST_RUNS)
