"""Sentences about tuning; nothing here computes statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from becalm.files.tables import toml_key, toml_value
from becalm.nouns.finding import Interval
from becalm.results.tune_arms import AND, BASELINE, EVERYTHING, LISTED, RECOMMENDED, TUNED, WITHOUT
from becalm.units import join_names
from becalm.wording.numbers import counted, percent
from becalm.wording.printable import one_line

if TYPE_CHECKING:
    from becalm.results.tune import AblationEffect, Arm, ArmComparison, TuneVerdict

TIMED = "time"
"""The objective of searching for the fastest settings."""

COST = 0.0005
"""The smallest change of the mean time worth reporting, a fraction; the reason is at `analysis.compare.NEGLIGIBLE`."""


def factor(ratio: Interval | float, value: float | None = None) -> str:
    """Return a ratio, or a value next to it, with the digits that its interval supports, such as "0.85" or "17.8"."""
    interval = ratio if isinstance(ratio, Interval) else Interval(ratio, ratio, ratio)
    number, half = interval.value if value is None else value, (interval.high - interval.low) / 2
    if not math.isfinite(number):
        return "an unknown amount"
    scale = half if 0 < half < math.inf else abs(number) / 10
    digits = min(2, max(0, 1 - math.floor(math.log10(scale)))) if scale else 2
    digits = max(digits, 2 if number < 0.995 else 1 if number < 9.95 else 0)
    return f"{number:,.{digits}f}"


def share(value: float) -> str:
    """Return a spread as a percentage with two significant digits, such as "5.8 %" or "0.071 %"."""
    return f"{percent(value)} %" if math.isfinite(value) else "unknown"


def change(interval: Interval) -> str:
    """Return a change of the mean time with its sign, such as "+2.1 %"."""
    half = (interval.high - interval.low) / 2
    return f"{percent(interval.value, half if math.isfinite(half) else None, sign=True)} %"


def change_ends(interval: Interval) -> str:
    """Return the ends of the interval of a change, such as "+1.9 to +2.3 %", or "not known"."""
    half = (interval.high - interval.low) / 2
    if not math.isfinite(half):
        return "not known"
    return f"{percent(interval.low, half, sign=True)} to {percent(interval.high, half, sign=True)} %"


def give_or_take(interval: Interval) -> str:
    """Return a change of the mean time with half its interval, such as "+2.1 ± 0.7 %"."""
    half = (interval.high - interval.low) / 2
    if not math.isfinite(half):
        return f"{percent(interval.value, sign=True)} %, not known how sure"
    digits = len(percent(interval.value, half).partition(".")[2])
    return f"{percent(interval.value, half, sign=True)} ± {100 * half:.{digits}f} %"


def ends(interval: Interval) -> str:
    """Return the ends of the interval of a ratio, such as "2.5 to 3.9", or "0.45 or more" without an upper end."""
    if not math.isfinite(interval.high) or interval.high > 1e6:
        return "not known" if interval.low < 1e-6 else f"{factor(interval.low)} or more"
    return f"{factor(interval, interval.low)} to {factor(interval, interval.high)}"


def named(arm: str) -> str:
    """Return an arm as the subject of a sentence."""
    return {
        BASELINE: "no settings",
        TUNED: "the chosen settings",
        RECOMMENDED: "the recommended settings",
        LISTED: "all known profiles together",
        EVERYTHING: "all settings together",
    }.get(arm, f"the chosen settings {arm}" if arm.startswith(WITHOUT) else f"the profile {arm}")


def value_text(value: Any) -> str:
    """Return the value of a knob as users write it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as text, such as "governor=performance, nice=-20", or "none"."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in settings.items()) or "none"


def comparison(arm_comparison: ArmComparison, baseline: Arm, arm: Arm, confidence: float) -> str:
    """Return the sentences on whether a program varies less with an arm than with the baseline, and at which cost."""
    level, basis = (
        f"{100 * confidence:g} %",
        f"{counted(arm_comparison.loops, 'loop')}, {counted(arm.runs, 'run')} each",
    )
    between = f"from {share(baseline.spread.value)} to {share(arm.spread.value)}"
    if arm_comparison.ratio.low > 1:
        body = (
            f"With {named(arm.name)} the run-to-run variation of {arm_comparison.program} falls "
            f"{factor(arm_comparison.ratio)}-fold "
            f"({level}: {ends(arm_comparison.ratio)}), its spread {between}; {basis}."
        )
    elif arm_comparison.ratio.high < 1:
        worse = Interval(
            1 / arm_comparison.ratio.value, 1 / arm_comparison.ratio.high, 1 / max(arm_comparison.ratio.low, 1e-9)
        )
        body = (
            f"With {named(arm.name)} the run-to-run variation of {arm_comparison.program} rises {factor(worse)}-fold "
            f"({level}: {ends(worse)}), its spread {between}; {basis}."
        )
    else:
        body = (
            f"No reduction of the run-to-run variation of {arm_comparison.program} is shown with "
            f"{named(arm.name)}: a spread of "
            f"{share(baseline.spread.value)} without, {share(arm.spread.value)} with them (ratio "
            f"{factor(arm_comparison.ratio)}, "
            f"{level}: {ends(arm_comparison.ratio)}); {basis}{_would_have_been_seen(arm_comparison)}."
        )
    return f"{body} {_cost(arm_comparison)}"


def _would_have_been_seen(arm_comparison: ArmComparison) -> str:
    if not math.isfinite(arm_comparison.detectable) or arm_comparison.detectable > 1000:
        return "; they are too few to see anything"
    more = arm_comparison.loops_needed
    seen = f"; a ratio of {factor(arm_comparison.detectable)} would probably have been seen"
    if (
        more is not None
        and arm_comparison.ratio.value > 1.02
        and arm_comparison.loops < more <= 100 * arm_comparison.loops
    ):
        seen += f", this one with {more:,} loops"
    return seen


def _cost(arm_comparison: ArmComparison) -> str:
    low, high = arm_comparison.shift.low, arm_comparison.shift.high
    if max(abs(low), abs(high)) <= COST:
        return "Its mean time stays the same."
    half = (high - low) / 2
    if low > 0 or high < 0:
        size = percent(abs(arm_comparison.shift.value), half if math.isfinite(half) else None)
        return (
            f"It takes {size} % {'longer' if low > 0 else 'less time'} on average "
            f"({change_ends(arm_comparison.shift)})."
        )
    return f"No change of its mean time is seen ({change_ends(arm_comparison.shift)})."


def contribution(effect: AblationEffect, margin: float, confidence: float) -> str:
    """Return the sentences on the effect and the cost of one knob, and on whether it can be left out."""
    size = f"{factor(effect.ratio)} times as large ({100 * confidence:g} %: {ends(effect.ratio)})"
    without = f"without {'them' if AND in effect.knob else 'it'} the spread is {size}"
    return f"{usefulness(effect, without, f'{percent(margin)} % more')} {_paid(effect)}"


def usefulness(effect: AblationEffect, without: str, margin: str) -> str:
    """Return the sentence on whether a knob helps or can be left out; `without`: what changes without it."""
    about, several = f"{effect.knob}={value_text(effect.value)}", AND in effect.knob
    if effect.droppable:
        return f"{about} can be left out: {without}, less than {margin}."
    if effect.ratio.low > 1:
        return f"{about} {'help' if several else 'helps'}: {without}."
    loops = ""
    if effect.loops_needed is not None and effect.loops_needed <= 10_000:
        loops = f"; about {counted(effect.loops_needed, 'loop')} would decide"
    return f"{about} is undecided and stays: {without}{loops}."


def _paid(effect: AblationEffect) -> str:
    if effect.cost.low > COST:
        return f"It costs time: {change(effect.cost)} ({change_ends(effect.cost)})."
    if effect.cost.high < -COST:
        return f"It saves time: {change(effect.cost)} ({change_ends(effect.cost)})."
    return f"No cost in time is seen{'' if AND in effect.knob else ' when only it is left out'}."


def boots(count: int, boot_ns: float, share: float) -> str:
    """Return the sentences about reboots: their number, their time, and why loops have boots of their own."""
    return (
        f"The machine was started again {counted(count, 'time')}; each time takes about {boot_ns / 1e9:.1f} s, "
        f"{percent(share)} % of the study. Runs of one boot have something in common (where memory lies, what else "
        "runs by then), so each loop of the confirmation had its own boots, and loops are compared."
    )


def not_booted(lost: Mapping[str, str]) -> str:
    """Return the sentences about boot settings that were not tried. `lost`: their knobs, with the purpose of each."""
    knobs = "; ".join(f"{knob} ({purpose})" for knob, purpose in lost.items())
    return (
        f"Settings that need a restart were not tried, since this host is not restarted during a study: {knobs}. What "
        "they would add is not known. They are tried in a guest (--host 'guest:6.12?cpus=2') and on another machine "
        "that may be restarted (--allow-reboot)."
    )


def failed(arm: str, program: str, runs: int, good: int) -> str:
    """Return the sentence about failed runs of an arm."""
    return (
        f"{program} failed in {counted(runs, 'run')} with {named(arm)} ({good:,} ended well); settings under which a "
        "program fails are not usable, however little it varies."
    )


def headline(tune_verdict: TuneVerdict) -> tuple[ArmComparison, ...]:
    """Return the main comparison of each program: with the recommended settings, else with the chosen ones."""
    order = [arm.name for arm in tune_verdict.arms if arm.settings == tune_verdict.settings and arm.name != BASELINE]
    for name in (*sorted(order, key=(RECOMMENDED, TUNED).__contains__, reverse=True), TUNED):
        rows = tuple(arm_comparison for arm_comparison in tune_verdict.comparisons if arm_comparison.arm == name)
        if rows:
            return rows
    return ()


def verdict(tune_verdict: TuneVerdict) -> str:
    """Return the sentences of a tune study, one per line, the most important first."""
    lines = [arm_comparison.sentence for arm_comparison in headline(tune_verdict)]
    timed = tune_verdict.objective == TIMED
    if not lines and not tune_verdict.chosen and timed:
        lines = [_nothing_faster(tune_verdict)]
    if not lines and not tune_verdict.chosen:
        tried = f"{counted(tune_verdict.search_runs, 'run')} of {counted(len(tune_verdict.trials), 'trial')}"
        who = tune_verdict.programs[0] if len(tune_verdict.programs) == 1 else "the programs together"
        seen = [
            (trial.runs, trial.spread)
            for trial in tune_verdict.trials
            if not trial.settings and trial.spread is not None
        ]
        runs = sum(number for number, _ in seen)
        bare = math.sqrt(sum(number * spread**2 for number, spread in seen) / runs) if runs else None
        now = "" if bare is None else f", whose spread is about {share(bare)}"
        lines = [f"Nothing that was tried clearly reduces the run-to-run variation of {who}{now}: {tried}."]
        if not tune_verdict.search_runs:
            lines = _not_searched(tune_verdict, who)
    if not lines:
        lines = ["Nothing is known: no loop has good runs of both the baseline and the chosen settings."]
    if not tune_verdict.settings:
        end = ""
        if tune_verdict.chosen:
            failed = {(arm.name, arm.program): arm.failed for arm in tune_verdict.arms}
            bad = any(failed.get((TUNED, name), 0) > failed.get((BASELINE, name), 0) for name in tune_verdict.programs)
            refused = [finding.numbers["settings"] for finding in tune_verdict.findings if finding.kind == "refused"]
            why = "a program fails with them" if bad else "fresh runs did not confirm it"
            why = (
                "they were not accepted each time, as explained below" if dict(tune_verdict.chosen) in refused else why
            )
            settings = settings_text(tune_verdict.chosen)
            how = f"{settings} was tried" if tune_verdict.method == "try" else f"The search had chosen {settings}"
            end = f" {how}; {why}."
        lines.append(f"Nothing to recommend: leave the machine as it is.{end}")
        lines += [f"However: {row.sentence}" for row in _lists(tune_verdict)]
        return "\n".join(lines)
    lines += [finding.sentence for finding in tune_verdict.findings if finding.kind in ("list_best", "no_better")]
    if dropped := [knob for knob in tune_verdict.chosen if knob not in tune_verdict.settings]:
        without = "Without them" if len(dropped) > 1 else "Without it"
        measure = f"{tune_verdict.metric.name if timed and tune_verdict.metric else 'time' if timed else 'spread'} is"
        worse = "longer" if timed else "larger"
        worse = "worse" if timed and tune_verdict.metric else worse
        lines.append(
            f"Left out of what the search chose: {', '.join(dropped)}. {without} the {measure} less than "
            f"{percent(tune_verdict.margin)} % {worse}, if at all."
        )
    elif len(tune_verdict.droppable) > 1:
        lines.append(
            f"Each can be left out by itself: {', '.join(tune_verdict.droppable)}. "
            "Leaving out all of them together was not confirmed, so they stay."
        )
    return "\n".join(lines)


def _not_searched(tune_verdict: TuneVerdict, who: str) -> list[str]:
    """Return the sentences for a study that had no time for a search, with the results of the strongest settings."""
    arms = list(dict.fromkeys(row.arm for row in tune_verdict.comparisons))
    if not arms:
        return [f"No settings were tried for {who}: after the first look there was no time for a search."]
    only = join_names(map(named, arms))
    lines = [f"After the first look at {who} there was no time for a search, only for {only}."]
    lines[0] += " A longer --budget allows one."
    return [*lines, *(row.sentence for row in tune_verdict.comparisons)]


def _nothing_faster(tune_verdict: TuneVerdict) -> str:
    """Return the sentence on why a search for the fastest settings chose nothing."""
    tried = f"{counted(tune_verdict.search_runs, 'run')} of {counted(len(tune_verdict.trials), 'trial')}"
    who = tune_verdict.programs[0] if len(tune_verdict.programs) == 1 else "the programs together"
    why = next((str(finding.numbers["why"]) for finding in tune_verdict.findings if finding.kind == "choice"), "")
    template = "makes {who} run faster" if tune_verdict.metric is None else "improves {metric} of {who}"
    effect = template.format(who=who, metric="" if tune_verdict.metric is None else tune_verdict.metric.name)
    if not tune_verdict.search_runs:
        return f"No settings were tried for {who}. {why}".rstrip()
    return f"Nothing that was tried {effect}: {tried}. {why}".rstrip()


def _lists(tune_verdict: TuneVerdict) -> list[ArmComparison]:
    """Return the comparisons of known profiles that help although the chosen settings do not."""
    chosen_arms = (BASELINE, TUNED, RECOMMENDED)
    return [
        row
        for row in tune_verdict.comparisons
        if row.ratio.low > 1 and row.arm not in chosen_arms and WITHOUT not in row.arm
    ]


def commands(tune_verdict: TuneVerdict) -> tuple[tuple[str, str], ...]:
    """Return the commands to run next, each with its effect."""
    if not tune_verdict.settings:
        return (("becalm compare 'OLD' 'NEW'", "detects small differences all the same: in random order"),)
    where = str(tune_verdict.study) if tune_verdict.study is not None else f"{PROFILE_FILE}"
    return (
        (f"becalm apply {where} -- PROGRAM", "runs a program once under these settings, as they were measured"),
        (f"becalm compare --profile {where} 'OLD' 'NEW'", "measures under them; so do run, suite and watch"),
        (f"becalm apply {where}", "applies those of the machine; programs that you start yourself get no others"),
        ("becalm reset", "restores every setting exactly as it was"),
        (f"becalm export-settings {where}", "writes them as files for production: sysctl, systemd, tuned, GRUB"),
    )


PROFILE_FILE = "tuned.toml"
"""The file name of a profile that belongs to no study."""


def profile(tune_verdict: TuneVerdict) -> str:
    """Return the recommended settings as a profile in TOML."""
    name = f"tuned-{tune_verdict.study}" if tune_verdict.study is not None else "tuned"
    programs = join_names(tune_verdict.programs)
    # Readers of profiles expect it on one line.
    description = one_line(f"Found by becalm tune ({tune_verdict.method}) for {programs} on {tune_verdict.host}")
    lines = [
        f"name = {toml_value(name)}",
        f"description = {toml_value(description)}",
        "",
        "[settings]",
        *(f"{toml_key(knob)} = {toml_value(value)}" for knob, value in tune_verdict.settings.items()),
    ]
    return "\n".join(lines) + "\n"
