"""Tables of a search for the fastest settings: times where those of a search for little variation have spreads."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.finding import Interval
from becalm.report.table import Table
from becalm.report.tune import response
from becalm.results.tune import AblationEffect, Arm, ArmComparison, TuneVerdict
from becalm.results.tune_arms import AND
from becalm.wording import tune as sentences
from becalm.wording.metric import quantity

Compared = Sequence[tuple[str, Arm, ArmComparison | None]]
"""Arms in their order: what each is called, and how it compares with the baseline."""


def compared(verdict: TuneVerdict, arms: Compared) -> Table:
    """Return the table of mean time and standard deviation of every arm."""
    level = f"{100 * verdict.confidence:g} %"
    made = next((arm.throughput for _, arm, _ in arms if arm.throughput is not None), None)
    rows = []
    for name, arm, each in arms:
        cells = [name, response.shown(verdict, response.level(verdict, arm).value)]
        cells += [] if made is None else [_throughput(arm)]
        cells += ["", ""] if each is None else response.gain(verdict, each)
        cells += [
            response.deviation(verdict, arm),
            "" if each is None or each.deviation is None else _ratio(each.deviation),
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
    done = () if made is None else (f"{made.what}/s",)
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
    # What is got done in a second follows from the mean time, which stays.
    spare = (last, last - 1, *(() if made is None else (2,)), last - 2)
    return Table("Before and after", head, tuple(rows), tuple(range(1, last + 1)), note, spare=spare)


def _throughput(arm: Arm) -> str:
    made = arm.throughput
    return "" if made is None else quantity(made.per_second.value)


def _ratio(ratio: Interval) -> str:
    return f"{sentences.factor(ratio)} ({sentences.ends(ratio)})"


def knobs(verdict: TuneVerdict, program: str, title: str, decisions: Sequence[tuple[str, str]]) -> Table:
    """Return the table of the gain of each chosen knob; `decisions`: the setting of each, and what was decided."""
    level = f"{100 * verdict.confidence:g} %"
    mine = [contribution for contribution in verdict.contributions if contribution.program == program]
    rows = tuple(
        (setting, longer(each), longer_ends(each), what) for each, (setting, what) in zip(mine, decisions, strict=True)
    )
    worse = "longer a run takes" if verdict.metric is None else f"worse {verdict.metric.name} is"
    note = (
        f"Without it: how much {worse} when only this "
        "setting is left out; above 0 it helps. It is "
        f"expendable when that is below {100 * verdict.margin:g} % for certain ({level}); undecided ones are kept."
    )
    if any(AND in each.knob for each in mine):
        note += " Settings of one start of the machine are left out together."
    return Table(title, ("setting", "without it", level, ""), rows, (1, 2), note)


def longer(effect: AblationEffect) -> str:
    """Return the additional time of a run without a knob: "+4.2 %"."""
    return sentences.change(_longer(effect))


def longer_ends(effect: AblationEffect) -> str:
    """Return the ends of its interval."""
    return sentences.change_ends(_longer(effect))


def _longer(effect: AblationEffect) -> Interval:
    return Interval(effect.ratio.value - 1, effect.ratio.low - 1, effect.ratio.high - 1)
