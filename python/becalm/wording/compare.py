"""Sentences of verdicts. Nothing here prints or computes statistics."""

from __future__ import annotations

import math
from collections.abc import Callable

from becalm.nouns.finding import Interval
from becalm.nouns.metric import Metric
from becalm.results.compare import Answer, Difference, Gate, Ranking, Stopped, Summary, Verdict
from becalm.units import join_names
from becalm.wording import metric as metrics
from becalm.wording.metric import FACTOR_FROM, TOO_NOISY, factors
from becalm.wording.numbers import about, are, budget, counted, factor, percent, spent

MANY = 3
"""The number of comparisons from which a table replaces their sentences."""

ENOUGH_ROUNDS = 10
"""The number of rounds that tells programs apart if they differ by much more than they vary."""


def difference(d: Difference, elapsed_ns: int | None = None) -> str:
    """Return the verdict on one comparison."""
    basis = counted(d.pairs, "pair") + (f", {spent(elapsed_ns)}" if elapsed_ns is not None else "")
    weak = " The reference was measured at another time, and this figure includes what changed since." if d.weak else ""
    if d.weak:
        basis = spent(elapsed_ns) if elapsed_ns is not None else ""
    seen = f"; a difference of {percent(d.detectable)} % would have been seen" if math.isfinite(d.detectable) else ""
    if d.metric:
        return metrics.difference(d, basis, seen, weak)
    if d.answer is Answer.UNKNOWN:
        few = f"{basis} {are(d.pairs)} too few"
        return f"Not yet known whether {d.name} differs from {d.reference}: {few}. Measure longer.{weak}"
    level = f"{100 * d.confidence:g} %"
    half = (d.high - d.low) / 2
    if d.answer is Answer.NO_DIFFERENCE_DETECTED:
        if max(abs(d.low), abs(d.high)) > TOO_NOISY:
            times = f"{d.name} takes {factors(d)} times as long as {d.reference}"
            return f"Too noisy to tell: {times} ({level}), {basis}. Measure longer.{weak}"
        bound = percent(max(abs(d.low), abs(d.high)), half)
        span = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
        return f"No difference above {bound} % between {d.name} and {d.reference} ({level}: {span}), {basis}.{weak}"
    if d.answer is Answer.SLOWER and d.estimate >= FACTOR_FROM:
        body = f"{d.name} takes {factor(d.estimate, half)} times as long as {d.reference}"
        span = f"{factor(d.low, half)} to {factor(d.high, half)}"
    elif d.answer is Answer.FASTER and 1 / (1 + d.estimate) - 1 >= FACTOR_FROM:
        # The factor is 1/(1+x): its half width follows from the derivative.
        fast, width = 1 / (1 + d.estimate), half / (1 + d.estimate) ** 2
        body = f"{d.name} is {factor(fast - 1, width)} times as fast as {d.reference}"
        span = f"{factor(1 / (1 + d.high) - 1, width)} to {factor(1 / (1 + d.low) - 1, width)}"
    else:
        low, high = sorted((abs(d.low), abs(d.high)))
        body = f"{d.name} is {percent(abs(d.estimate), half)} % {d.answer} than {d.reference}"
        span = f"{percent(low, half)} to {percent(high, half)} %"
    return f"{body} ({level}: {span}), {basis}{seen}.{weak}"


def run(s: Summary, elapsed_ns: int | None, confidence: float) -> str:
    """Return the verdict on one program."""
    (mean, _, cv, shown), level = metrics.measured(s), f"{100 * confidence:g} %"
    half = (mean.high - mean.low) / 2
    basis = counted(s.runs, "run") + ("" if elapsed_ns is None else f", {spent(elapsed_ns)}")
    done = f", {rate}" if (rate := metrics.per_second(s)) else ""
    takes, took = f"{s.name} takes", f"{s.name} took"
    if s.metrics:
        takes = took = f"The {s.metrics[0].name} of {s.name} is"
    if not math.isfinite(half):
        return f"{took} {shown(mean.value)}{done}; {basis} {are(s.runs)} too few to tell how certain that is."
    more = ""
    if s.runs_for_one_percent is not None and half > 0.01 * mean.value and s.runs_for_one_percent > s.runs:
        more = f"; ±1 % would take about {s.runs_for_one_percent:,} runs" if not s.metrics else ""
    share = percent(half / mean.value if mean.value else 0.0)
    sure = f"{shown(mean.value)} ± {share} % on average ({level})"
    if mean.low <= 0 and not s.metrics:
        # No time is below zero, as ± would suggest.
        sure = f"{shown(mean.value)} on average ({level}: {between(mean, shown)})"
    return f"{takes} {sure}{done}, with a spread of {percent(cv.value)} % from run to run; {basis}{more}."


def between(time: Interval, shown: Callable[[float], str]) -> str:
    """Return the ends of an interval of a time, which is never below zero."""
    return f"{shown(time.low)} to {shown(time.high)}" if time.low > 0 else f"at most {shown(time.high)}"


def verdict(result: Verdict) -> str:
    """Return a whole verdict: its comparisons, else its programs; the result of a limit; why measuring ended early.

    Of many programs, it names the fastest and how the next compares with it; the table has the others.
    """
    lines = [row.sentence for row in result.differences]
    if result.ranking is not None:
        # The fastest program is named, or the second where the fastest is the reference.
        telling = {place.name for place in result.ranking.places[:2]}
        if any(row.name == result.ranking.places[0].name for row in result.differences):
            telling = {result.ranking.places[0].name}
        few = len(lines) < MANY
        rows = [row for row in result.differences if row.answer is not Answer.UNKNOWN or row.weak]
        lines = [row.sentence for row in rows if few or row.name in telling or row.weak]
        lines.insert(0, fastest(result.ranking, result.metric))
    elif len(lines) >= MANY and all(row.answer is Answer.UNKNOWN for row in result.differences):
        lines = [unranked(result)]
    if result.exact:
        lines = lines or [metrics.counts(summary) for summary in result.summaries]
    lines = lines or [run(summary, result.elapsed_ns, result.confidence) for summary in result.summaries]
    if result.fail_above is not None:
        lines.append(limit(result))
    lines.append(stopped(result.stopped))
    return "\n".join(line for line in lines if line) or "This study has no finished run."


def unranked(verdict: Verdict) -> str:
    """Return the sentences about many programs after too few rounds: which looked best, and how long to measure."""
    rounds, count = max(row.pairs for row in verdict.differences), len(verdict.differences) + 1
    head = f"Not yet known how {count} programs differ: {counted(rounds, 'round')} in {spent(verdict.elapsed_ns or 0)}"
    head += f" {are(rounds)} too few."
    if verdict.metric is None and verdict.summaries:
        means = {summary.name: summary.mean_ns.value for summary in verdict.summaries if summary.mean_ns is not None}
        first = min(means, key=means.__getitem__)
        time = about(ENOUGH_ROUNDS * int(sum(means.values())))
        head += f" {first} was the fastest. {ENOUGH_ROUNDS} rounds would take about {spent(time)}: {budget(time)}."
    return head


def limit(verdict: Verdict) -> str:
    """Return the result of `--fail-above`, and what it takes to decide where it is undecided."""
    fail_above = verdict.fail_above or 0.0
    bound, of = f"{percent(fail_above)} %", "" if verdict.metric is None else verdict.metric.name
    if verdict.gate is Gate.WITHIN:
        return f"Within the limit: {f'{of} is not worse by more than' if of else 'no slowdown above'} {bound}."
    if verdict.gate is Gate.ABOVE:
        worst = max(verdict.differences, key=lambda row: row.harm[1])
        than = f"has a worse {of} than" if of else "is slower than"
        return f"Over the limit: {worst.name} {than} {worst.reference} by more than {bound}."
    open_ = [row.name for row in verdict.differences if row.harm[1] <= fail_above < row.harm[2]]
    programs = f" of {join_names(open_)}" if open_ else ""
    if verdict.decides_ns is None:
        more = _longer(verdict)
    else:
        time = about(verdict.decides_ns)
        more = f"If it is as it looks, about {spent(time)} in all would decide: {budget(time)}."
    counts = (
        "This counts as a failure; --undecided pass accepts it."
        if verdict.undecided == "fail"
        else "It is accepted (--undecided pass)."
    )
    effect = f"a change of {of} for the worse" if of else "a slowdown"
    return f"Undecided: {effect}{programs} above {bound} is neither shown nor ruled out. {more} {counts}"


def _longer(verdict: Verdict) -> str:
    """Return the advice to measure longer; after a few pairs, with the number that would be enough."""
    pairs = max((row.pairs for row in verdict.differences if not row.weak), default=0)
    if not 0 < pairs < ENOUGH_ROUNDS:
        return "Measure longer."
    time = about(math.ceil(ENOUGH_ROUNDS * (verdict.elapsed_ns or 0) / pairs))
    return f"Measure longer: {ENOUGH_ROUNDS} pairs would take about {spent(time)}, {budget(time)}."


def fastest(ranking: Ranking, metric: Metric | None = None) -> str:
    """Return the sentences about the fastest or best program with its certainty, or about what would decide."""
    names, count, level = ranking.fastest, len(ranking.places), f"{100 * ranking.confidence:g} %"
    best = "is the fastest" if metric is None else f"has the {'highest' if metric.higher else 'lowest'} {metric.name}"
    was, be = ("was", "be") if metric is None else ("had", "have")
    the = best.partition(" ")[2]
    out = count - len(names)
    if len(names) == 1:
        return f"{names[0]} {best} of {count} programs ({level})."
    gone = f" The other {out} cannot {be} {the}." if out > 1 else ""
    gone = gone or (f" {ranking.places[-1].name} cannot {be} {the}." if out else "")
    more = " Measure longer."
    if ranking.decides_ns is not None:
        time = about(ranking.decides_ns)
        more = f" If it is as it looks, about {spent(time)} in all would decide: {budget(time)}."
    if math.isfinite(ranking.within):
        verb = "differs" if len(names) == 2 else "differ"
        between = f"{verb} from it by {percent(ranking.within)} % at most"
        known = f"{names[0]} {was} {the} of {count} programs; {join_names(names[1:])} {between} ({level})."
        return f"{known}{gone}{more}"
    return (
        f"Not yet known which of {count} programs {best}; {names[0]} {'was' if metric is None else 'did'}.{gone}{more}"
    )


def ranks(best: int, worst: int) -> str:
    """Return the ranks that a program may have."""
    return str(best) if best == worst else f"{best}-{worst}"


def stopped(reason: Stopped) -> str:
    """Return the sentence on why measuring ended early; empty where it did not."""
    return {
        Stopped.INTERRUPTED: "Interrupted; the verdict rests on what was measured until then.",
        Stopped.FAILED: "A program failed; the verdict rests on its runs before that and on the other programs.",
    }.get(reason, "")


def kept(study: int | None, rounds: int) -> str:
    """Return the hint at finished runs after an error; empty where there are none."""
    return f" See `becalm show {study}`." if study is not None and rounds else ""
