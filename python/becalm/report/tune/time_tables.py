"""Tables of a search for the fastest settings, with times where a search for little variation has spreads."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.finding import Interval
from becalm.report.table import Table
from becalm.report.tune import response
from becalm.results.tune import AblationEffect, Arm, ArmComparison, TuneVerdict
from becalm.results.tune_arms import AND
from becalm.wording import tune as sentences
from becalm.wording.metric import quantity

ArmRows = Sequence[tuple[str, Arm, ArmComparison | None]]
"""Arms in their order: their names, the arms, and their comparisons with the baseline."""


def arm_table(verdict: TuneVerdict, arms: ArmRows) -> Table:
    """Return the table of mean time and standard deviation of every arm."""
    level = f"{100 * verdict.confidence:g} %"
    throughput = next((arm.throughput for _, arm, _ in arms if arm.throughput is not None), None)
    rows = []
    for name, arm, comparison in arms:
        cells = [name, response.shown(verdict, response.level(verdict, arm).value)]
        cells += [] if throughput is None else [_throughput(arm)]
        cells += ["", ""] if comparison is None else response.gain(verdict, comparison)
        cells += [
            response.deviation(verdict, arm),
            "" if comparison is None or comparison.deviation is None else _ratio(comparison.deviation),
        ]
        rows.append((*cells, f"{arm.runs:,}"))
    note = (
        f"Mean time of a run. Time saved: of that without settings, with its {level} interval from paired loops. "
        "Deviation: standard deviation of runs in a typical loop; reduced: that without settings over that with them. "
        "Every figure is from fresh runs, interleaved with the baseline, none from the search."
    )
    if verdict.metric is not None:
        note = (
            f"Mean {verdict.metric.name} of a run, and its change from that without settings, with its "
            f"{level} interval "
            f"from paired loops; {verdict.metric.better} is better. {note.partition('loops. ')[2]}"
        )
    done = () if throughput is None else (f"{throughput.what}/s",)
    head = (
        "",
        f"mean {response.name(verdict)}",
        *done,
        response.gained(verdict),
        level,
        "deviation",
        "reduced",
        "runs",
    )
    last = len(head) - 1
    # The throughput can be spared first, since it follows from the mean time.
    spare = (last, last - 1, *(() if throughput is None else (2,)), last - 2)
    return Table("Before and after", head, tuple(rows), tuple(range(1, last + 1)), note, spare=spare)


def _throughput(arm: Arm) -> str:
    throughput = arm.throughput
    return "" if throughput is None else quantity(throughput.per_second.value)


def _ratio(ratio: Interval) -> str:
    return f"{sentences.factor(ratio)} ({sentences.ends(ratio)})"


def knobs(verdict: TuneVerdict, program: str, title: str, decisions: Sequence[tuple[str, str]]) -> Table:
    """Return the table of the gain of each chosen knob; `decisions`: pairs of its setting and the decision on it."""
    level = f"{100 * verdict.confidence:g} %"
    effects = [contribution for contribution in verdict.contributions if contribution.program == program]
    rows = tuple(
        (setting, longer(effect), longer_ends(effect), decision)
        for effect, (setting, decision) in zip(effects, decisions, strict=True)
    )
    worse = "longer a run takes" if verdict.metric is None else f"worse {verdict.metric.name} is"
    note = (
        f"Without it: how much {worse} when only this "
        "setting is left out; above 0 it helps. It is "
        f"expendable when that is below {100 * verdict.margin:g} % for certain ({level}); undecided ones stay."
    )
    if any(AND in effect.knob for effect in effects):
        note += " Settings of one start of the machine are left out together."
    return Table(title, ("setting", "without it", level, ""), rows, (1, 2), note)


def longer(effect: AblationEffect) -> str:
    """Return the additional time of a run without a knob, such as "+4.2 %"."""
    return sentences.change(_longer(effect))


def longer_ends(effect: AblationEffect) -> str:
    """Return the ends of the interval of the additional time of a run without a knob."""
    return sentences.change_ends(_longer(effect))


def _longer(effect: AblationEffect) -> Interval:
    return Interval(effect.ratio.value - 1, effect.ratio.low - 1, effect.ratio.high - 1)
