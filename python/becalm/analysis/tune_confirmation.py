"""Conclusions from the runs that confirm a choice of settings: how much less they vary, and because of which knob.

Pure: samples in, values of `becalm.results.tune` out. The runs must be fresh (none of the search) and their arms
interleaved: every loop ran all arms, in random order. `stats.spread` compares them loop by loop; the textbook tests are
added because people know them. docs/reference/tune-report.md explains each number.

A tune verb confirms more than once: `leave_one_out` names the arms of the first confirmation; `judge` reads it and
lists the knobs that are not shown to help (`Confirmation.spare`). Settings without some of them are measured again as
the arm RECOMMENDED, and `judge` of that confirmation is final.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.methods.protocol import NO_SETTINGS, Sample
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Metric
from becalm.nouns.objective import TIME, find
from becalm.nouns.settings import Settings
from becalm.results.tune import QUANTILES, AblationEffect, Arm, ArmComparison
from becalm.results.tune_arms import AND, BASELINE, RECOMMENDED, TUNED, WITHOUT
from becalm.stats.arrays import Floats
from becalm.stats.classical_tests import TestResult, brown_forsythe, f_test, levene, student_t, welch_t
from becalm.stats.spread import Ratio
from becalm.wording import tune as sentences
from becalm.wording import tune_metric, tune_time
from becalm.wording.findings import finding

Arms = Mapping[str, Sequence[Sample]]
"""The samples of each arm, one for each program in their order; loop i is the same loop for all of them."""


class Confirmation(msgspec.Struct, frozen=True):
    """The conclusions of a confirmation, empty before there is one; fields as in `TuneVerdict`.

    `spare`: chosen knobs that are not shown to make any program vary less, the least useful first. They call for
    another measurement of the chosen settings without them, as RECOMMENDED, with TUNED and BASELINE.
    """

    arms: tuple[Arm, ...] = ()
    comparisons: tuple[ArmComparison, ...] = ()
    contributions: tuple[AblationEffect, ...] = ()
    droppable: tuple[str, ...] = ()
    chosen: Settings = NO_SETTINGS
    settings: Settings = NO_SETTINGS
    spare: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def leave_one_out(
    chosen: Settings, requires: Mapping[str, Sequence[str]] | None = None, together: Sequence[str] = ()
) -> dict[str, Settings]:
    """Return the arms that show what each chosen knob contributes, by name: the chosen settings without it.

    `requires`: knobs without which a knob has no meaning (`Candidate.requires`); it is left out with them. `together`:
    knobs that are left out as one unit, their names joined by AND.
    """
    unit_name = AND.join(knob for knob, _ in chosen.values if knob in together)
    units = dict.fromkeys(unit_name if knob in together else knob for knob, _ in chosen.values)
    return {WITHOUT + unit: without(chosen, (unit,), requires) for unit in units}


def without(chosen: Settings, knobs: Iterable[str], requires: Mapping[str, Sequence[str]] | None = None) -> Settings:
    """Return the chosen settings without some knobs (or several joined by AND) and those that have no meaning without
    them."""
    removed = {knob for unit in knobs for knob in unit.split(AND)}
    while (
        dependants := {name for name, _ in chosen.values if removed.intersection((requires or {}).get(name, ()))}
        - removed
    ):
        removed |= dependants
    return _without(chosen, removed)


def _without(chosen: Settings, removed: set[str]) -> Settings:
    return Settings(tuple((name, value) for name, value in chosen.values if name not in removed))


def judge(
    arms: Arms,
    programs: Sequence[str],
    *,
    objective: str = "cv",
    confidence: float = 0.95,
    margin: float = 0.1,
    metric: Metric | None = None,
) -> Confirmation:
    """Return the conclusions from arms BASELINE and TUNED, and any of "without …", RECOMMENDED and named profiles.

    Each interval is at `confidence`, not all jointly. A knob may be dropped when the upper end of its ratio is at most
    1 + `margin` for every program: undecided means keep. Settings are recommended only when some program is shown to
    vary less with them, none to vary more, and none fails more often. `metric`: the metric in the samples, inverted
    where its mean is to be small; None for wall times. Raises ValueError when BASELINE or TUNED is missing or an arm
    does not have one sample for each program.
    """
    for name in (BASELINE, TUNED):
        if name not in arms:
            raise ValueError(f"A confirmation has the arms {BASELINE} and {TUNED}; {name} is missing.")
    if wrong := [name for name, samples in arms.items() if len(samples) != len(programs)]:
        raise ValueError(f"The arm {wrong[0]} has {len(arms[wrong[0]])} samples for {len(programs)} programs.")
    alpha = 1 - confidence
    comparisons, contributions, findings = [], [], []
    for index, program in enumerate(programs):
        program_samples = {name: samples[index] for name, samples in arms.items()}
        for name, sample in program_samples.items():
            if sample.failed and not sample.refused:
                findings.append(_failure(name, program, sample))
            if name == BASELINE or not _common(program_samples[BASELINE], sample)[0]:
                continue
            comparisons.append(_compare(name, program, program_samples[BASELINE], sample, objective, alpha))
            if name.startswith(WITHOUT) and _common(sample, program_samples[TUNED])[0]:
                knob = name.removeprefix(WITHOUT)
                contributions.append(
                    _contribution(knob, program, program_samples[TUNED], sample, objective, alpha, margin)
                )
    chosen = arms[TUNED][0].settings
    droppable = tuple(
        knob for knob in _droppable(contributions, len(programs)) if not _fails_more(arms, WITHOUT + knob)
    )
    settings = _recommended(arms, comparisons, objective, alpha, margin)
    arm_values = tuple(
        _arm(name, program, sample, objective, alpha, metric)
        for name, samples in arms.items()
        for program, sample in zip(programs, samples, strict=True)
    )
    return Confirmation(
        arms=arm_values,
        comparisons=tuple(
            _with_sentence(comparison, arm_values, confidence, objective, metric) for comparison in comparisons
        ),
        contributions=tuple(
            replace(contribution, sentence=_contribution_sentence(contribution, margin, confidence, objective, metric))
            for contribution in contributions
        ),
        droppable=droppable,
        chosen=chosen,
        settings=settings,
        spare=_spare(contributions) if helps(comparisons, TUNED) else (),
        findings=tuple(findings),
    )


def _recommended(
    arms: Arms, comparisons: Sequence[ArmComparison], objective: str, alpha: float, margin: float
) -> Settings:
    """Return the settings to recommend: none, the chosen ones, or RECOMMENDED where it was measured and loses
    nothing."""
    chosen = arms[TUNED][0].settings
    if not helps(comparisons, TUNED) or _fails_more(arms, TUNED):
        return NO_SETTINGS
    if RECOMMENDED not in arms:
        return chosen
    ratios = [_ratio(r, t, objective, alpha) for r, t in zip(arms[RECOMMENDED], arms[TUNED], strict=True)]
    as_steady = all(ratio is not None and ratio.high <= 1 + margin for ratio in ratios)
    is_better = as_steady and helps(comparisons, RECOMMENDED) and not _fails_more(arms, RECOMMENDED)
    return arms[RECOMMENDED][0].settings if is_better else chosen


def renew_spare(confirmation: Confirmation) -> Confirmation:
    """Return a confirmation with its spare knobs renewed, after its comparisons were replaced by newer ones."""
    return replace(
        confirmation, spare=_spare(confirmation.contributions) if helps(confirmation.comparisons, TUNED) else ()
    )


def _spare(contributions: Sequence[AblationEffect]) -> tuple[str, ...]:
    """Return the knobs that no program is shown to need, those with the smallest estimates first."""
    by_knob: dict[str, list[Interval]] = {}
    for contribution in contributions:
        by_knob.setdefault(contribution.knob, []).append(contribution.ratio)
    spare = [knob for knob, ratios in by_knob.items() if not any(ratio.low > 1 for ratio in ratios)]
    return tuple(sorted(spare, key=lambda knob: max(ratio.value for ratio in by_knob[knob])))


def _fails_more(arms: Arms, name: str) -> bool:
    """Return whether a program fails more often than on the baseline."""
    return any(sample.failed > baseline.failed for sample, baseline in zip(arms[name], arms[BASELINE], strict=True))


def helps(comparisons: Sequence[ArmComparison], arm: str) -> bool:
    """Return whether with an arm some program is shown to vary less, and none to vary more."""
    ratios = [comparison.ratio for comparison in comparisons if comparison.arm == arm]
    return any(ratio.low > 1 for ratio in ratios) and not any(ratio.high < 1 for ratio in ratios)


def _droppable(contributions: Sequence[AblationEffect], programs: int) -> tuple[str, ...]:
    knobs = dict.fromkeys(contribution.knob for contribution in contributions)
    verdicts = {
        knob: [contribution.droppable for contribution in contributions if contribution.knob == knob] for knob in knobs
    }
    return tuple(knob for knob in knobs if len(verdicts[knob]) == programs and all(verdicts[knob]))


def _common(first: Sample, second: Sample) -> tuple[list[Floats], list[Floats]]:
    """Return the loops in which both arms have two good runs or more."""
    pairs = [(a, b) for a, b in zip(first.loops, second.loops, strict=False) if min(len(a), len(b)) >= 2]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _times(first: Sample, second: Sample) -> tuple[list[Floats], list[Floats]]:
    """Return the wall times of the loops that `_common` returns."""
    return _common(replace(first, loops=first.times), replace(second, loops=second.times))


def _ratio(first: Sample, second: Sample, objective: str, alpha: float) -> Ratio | None:
    a, b = _common(first, second)
    return find(objective).ratio(a, b, alpha) if a else None


def _compare(name: str, program: str, baseline: Sample, arm: Sample, objective: str, alpha: float) -> ArmComparison:
    before, after = _common(baseline, arm)
    ratio = find(objective).ratio(before, after, alpha)
    shift = TIME.ratio(*_times(arm, baseline), alpha)
    x, y = np.concatenate(before), np.concatenate(after)
    f = _larger_over_smaller(x / x.mean(), y / y.mean())
    loops_needed = None if ratio.value == 1.0 or not 0 < ratio.value < math.inf else ratio.loops_for(ratio.value)
    return ArmComparison(
        arm=name,
        program=program,
        ratio=_interval(ratio),
        p_value=ratio.p_value,
        loops=ratio.loops,
        detectable=ratio.detectable,
        loops_needed=loops_needed,
        f=f.statistic,
        f_df=(int(f.df[0]), int(f.df[1])),
        f_p=f.p_value,
        levene_p=levene(x / x.mean(), y / y.mean()).p_value,
        brown_forsythe_p=brown_forsythe(x / x.mean(), y / y.mean()).p_value,
        shift=_change(shift),
        welch_p=welch_t(x, y).p_value,
        student_p=student_t(x, y).p_value,
        deviation=_deviation(before, after, alpha) if find(objective) is TIME else None,
    )


def _larger_over_smaller(x: Floats, y: Floats) -> TestResult:
    return f_test(x, y) if x.var(ddof=1) >= y.var(ddof=1) else f_test(y, x)


def _contribution(
    knob: str, program: str, tuned: Sample, without: Sample, objective: str, alpha: float, margin: float
) -> AblationEffect:
    left_out, chosen = _common(without, tuned)
    ratio, cost = find(objective).ratio(left_out, chosen, alpha), TIME.ratio(*_times(tuned, without), alpha)
    return AblationEffect(
        knob=knob,
        value=_values(tuned.settings, knob),
        program=program,
        ratio=_interval(ratio),
        cost=_change(cost),
        # A single loop has only the F interval, which assumes normal times.
        droppable=ratio.loops > 1 and ratio.high <= 1 + margin,
        loops_needed=_loops_to_decide(ratio, margin),
    )


def _values(settings: Settings, unit: str) -> Any:
    """Return the value of a knob; for several, each distinct value once."""
    values = list(dict.fromkeys(value for knob, value in settings.values if knob in unit.split(AND)))
    return values[0] if len(values) == 1 else AND.join(map(str, values))


def _loops_to_decide(ratio: Ratio, margin: float) -> int | None:
    """Return the loops after which the interval would probably lie on one side of 1 + margin, if the ratio holds."""
    distance = ratio.value / (1 + margin)
    return ratio.loops_for(distance) if 0.0 < distance < math.inf and distance != 1.0 else None


def _arm(name: str, program: str, sample: Sample, objective: str, alpha: float, metric: Metric | None) -> Arm:
    loops = [loop for loop in sample.loops if len(loop) >= 2]
    wall: Floats = np.concatenate(loops) if loops else np.empty(0)
    unknown = Interval(math.inf, 0.0, math.inf)
    settings: dict[str, Any] = dict(sample.settings.values)
    if not loops:
        return Arm(name, program, settings, 0, sample.failed, unknown, unknown, math.inf)
    # With an objective of mean time, the spread of runs is their coefficient of variation.
    row = find("cv") if find(objective) is TIME else find(objective)
    deviations = np.concatenate([loop / loop.mean() - 1 for loop in loops])
    return Arm(
        name=name,
        program=program,
        settings=settings,
        runs=len(wall),
        failed=sample.failed,
        mean_ns=Interval(*TIME.typical([loop for loop in sample.times if len(loop) >= 2], alpha)),
        spread=Interval(*row.typical(loops, alpha)),
        overall=float(wall.std(ddof=1) / wall.mean()),
        loops=row.by_loop(loops),
        deviations=tuple(float(q) for q in np.quantile(deviations, QUANTILES)),
        metric=None if metric is None else Interval(*_metric_mean(loops, alpha, objective, metric)),
    )


def _metric_mean(loops: Sequence[Floats], alpha: float, objective: str, metric: Metric) -> tuple[float, float, float]:
    """Return the mean of a metric as it was printed; its values are inverted only where a mean is made small."""
    typical = TIME.typical(loops, alpha)
    return metric.back(typical) if find(objective) is TIME else typical


def _interval(ratio: Ratio) -> Interval:
    return Interval(ratio.value, ratio.low, ratio.high)


def _change(ratio: Ratio) -> Interval:
    return Interval(ratio.value - 1, ratio.low - 1, ratio.high - 1)


def _with_sentence(
    comparison: ArmComparison, arms: Sequence[Arm], confidence: float, objective: str, metric: Metric | None
) -> ArmComparison:
    program_arms = {arm.name: arm for arm in arms if arm.program == comparison.program}
    before, after = program_arms[BASELINE], program_arms[comparison.arm]
    if metric is not None and find(objective) is TIME:
        return replace(comparison, sentence=tune_metric.comparison(comparison, before, after, confidence, metric))
    return replace(comparison, sentence=_words(objective).comparison(comparison, before, after, confidence))


def _contribution_sentence(
    effect: AblationEffect, margin: float, confidence: float, objective: str, metric: Metric | None
) -> str:
    if metric is not None and find(objective) is TIME:
        return tune_metric.contribution(effect, margin, confidence, metric)
    return str(_words(objective).contribution(effect, margin, confidence))


def _words(objective: str) -> ModuleType:
    """Return the module with sentences about times, or about spreads."""
    return tune_time if find(objective) is TIME else sentences


def _deviation(before: Sequence[Floats], after: Sequence[Floats], alpha: float) -> Interval:
    """Return the standard deviation before over after: the ratio of relative spreads times the ratio of means."""
    spread, times = find("cv").ratio(before, after, alpha), TIME.ratio(before, after, alpha).value
    return Interval(spread.value * times, spread.low * times, spread.high * times)


def _failure(name: str, program: str, sample: Sample) -> Finding:
    good = sum(len(loop) for loop in sample.loops)
    return finding("failure", {"arm": name, "failed": sample.failed, "runs": good}, program)
