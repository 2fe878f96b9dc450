"""Sentences of verdicts. Nothing here prints or computes statistics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Metric
from becalm.nouns.study import StoredStudy
from becalm.results.compare import Answer, Difference, Gate, Ranking, Stopped, Summary, Verdict
from becalm.units import join_names
from becalm.wording import metric as metrics
from becalm.wording.metric import FACTOR_FROM, TOO_NOISY, factors
from becalm.wording.numbers import duration as duration
from becalm.wording.numbers import factor
from becalm.wording.numbers import percent as percent
from becalm.wording.printable import distinct, one_line

T = TypeVar("T")

MANY = 3
"""The number of comparisons from which a table replaces their sentences."""

ENOUGH_ROUNDS = 10
"""The number of rounds that tells programs apart if they differ by much more than they vary."""


def memory(size: float) -> str:
    """Return a number of bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def spent(ns: float) -> str:
    """Return a time of measuring as text."""
    seconds = ns / 1e9
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def about(ns: int) -> int:
    """Return an estimated time rounded up to two digits, ns."""
    unit = int("1" + "0" * max(0, len(str(ns)) - 2))
    return -(-ns // unit) * unit


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 pair", "212 pairs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def are(number: int) -> str:
    """Return "is" for 1, "are" for other numbers."""
    return "is" if number == 1 else "are"


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


def budget(ns: int) -> str:
    """Return the option for a time budget of this length, or a little more."""
    seconds = ns / 1e9
    if seconds < 120:
        return f"--budget {math.ceil(seconds)}s"
    return f"--budget {math.ceil(seconds / 60)}min" if seconds < 7200 else f"--budget {math.ceil(seconds / 3600)}h"


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


_HOOK = re.compile(r"The (setup|prepare|cleanup) command failed\. ")
"""The beginning of the agent's message that a hook failed."""


def failure(name: str, n: Mapping[str, Any]) -> str:
    """Return the sentence on why a run does not count, with advice, from the numbers of a "failure" finding."""
    status, outcome, stderr = n["status"], n["outcome"], n["stderr"]
    hook = _HOOK.match(stderr)
    if hook is not None and (outcome == "refused" or n.get("unread") or n.get("spoilt")):
        return f"The {hook[1]} command of {name} failed{_when(n)}. {stderr[hook.end() :].strip()}"
    if outcome == "timeout":
        how = f"did not end within its time limit and was killed after {duration(n['wall_ns'])}"
        hint = "Give it more time with --timeout, or a smaller input."
    elif outcome == "refused":
        how = "could not be started"
        hint = "See the message below." if stderr else "Check the command, and its setup and prepare commands."
    elif n.get("unread") or n.get("spoilt"):
        lines = stderr.strip().splitlines()
        first, rest = (lines[0], "\n".join(lines[1:])) if lines else ("", "")
        more = f"\nEnd of its standard error:\n{_indent(rest)}" if rest else ""
        problem = "its metric could not be read" if n.get("unread") else "its run does not count"
        return f"{name} ended well, but {problem}{_when(n)}. {first}{more}"
    elif status is not None and status < 0:
        how = f"was killed by signal {-status}{signal_name(-status)}"
        hint = "Run it by itself to see why."
    else:
        how = f"failed with exit code {status}"
        hint = f"If that is fine, use --expect 0,{status} (or --expect any)."
    output = f"\nEnd of its standard error:\n{_indent(stderr)}" if stderr.strip() else ""
    return f"{name} {how}{_when(n)}. {hint}{output}"


def _when(n: Mapping[str, Any]) -> str:
    after = f" in run {n['seq']}, after {counted(n['done'], 'good run')}" if n["done"] else ""
    return f"{after} (a warm-up run)" if n["warmup"] else after


def signal_name(number: int) -> str:
    """Return " (SIGKILL)" for 9, empty for a number without a name."""
    import signal

    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _indent(text: str, lines: int = 10) -> str:
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def whole(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for a sentence, each whole and on one line; equal names are numbered."""
    return _numbered([one_line(name) for name in names])


def short(names: Sequence[str], width: int = 40) -> tuple[str, ...]:
    """Return distinct names of at most about `width` characters, cut in the middle; equal names are numbered."""
    return _numbered(distinct([one_line(name) for name in names], width))


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if names.count(name) == 1 else f"{name} [{seen[name]}]")
    return tuple(result)


def shortened(verdict: Verdict) -> Verdict:
    """Return a verdict with names cut to fit a terminal, also in its sentences; other forms have whole names."""
    names = [summary.name for summary in verdict.summaries]
    names += [name for row in verdict.differences for name in (row.name, row.reference)]
    return brief(verdict, tuple(dict.fromkeys(names)))


def brief(value: T, names: Sequence[str]) -> T:
    """Return a value in whose texts these names are replaced by their `short` forms."""
    pairs = zip(names, short(names), strict=True)
    cut = {form: shown for name, shown in pairs for form in (name, one_line(name)) if form != shown}
    # A long name may contain a short one.
    ordered = sorted(cut, key=len, reverse=True)

    def reword(text: str) -> str:
        for name in ordered:
            text = text.replace(name, cut[name])
        return text

    return cast(T, _reworded(value, reword)) if cut else value


NAMED_BY = ("name", "names", "entries", "benchmarks")
"""The keys under which findings hold names."""


def brief_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with names cut to fit a terminal in their sentences; other forms have whole names."""
    return tuple(replace(finding, sentence=brief(finding.sentence, _names_of(finding))) for finding in findings)


def _names_of(finding: Finding) -> tuple[str, ...]:
    """Return the program of a finding and the names among its numbers, which hold one, several, or pairs."""
    names = [finding.program]
    for key in NAMED_BY:
        value = finding.numbers.get(key, ())
        names += (
            [value] if isinstance(value, str) else [entry if isinstance(entry, str) else entry[0] for entry in value]
        )
    return tuple(dict.fromkeys(name for name in names if name))


def _reworded(value: Any, reword: Callable[[str], str]) -> Any:
    """Return a value with its texts reworded, through frozen values, tuples and mappings."""
    if isinstance(value, str):
        return reword(value)
    if isinstance(value, msgspec.Struct):
        old = structs.asdict(value)
        new = {name: _reworded(item, reword) for name, item in old.items()}
        return value if all(new[name] is old[name] for name in old) else replace(value, **new)
    if type(value) is tuple:
        items = tuple(_reworded(item, reword) for item in value)
        return value if all(new_item is item for new_item, item in zip(items, value, strict=True)) else items
    if type(value) is dict:
        return {_reworded(key, reword): _reworded(item, reword) for key, item in value.items()}
    return value


def recovered(study: int, runs: int, aside: Path | None = None) -> str:
    """Return the sentence about recovered runs of a killed becalm. `aside`: the file that holds the unreadable rest."""
    result = f"Recovered {counted(runs, 'run')} of study {study} that a killed becalm could not store."
    if aside is None:
        return result
    rest = f"they are damaged, or of a study that this store does not have. They are stored in {aside}."
    if not runs:
        return f"Runs that a killed becalm could not store cannot be read: {rest}"
    return f"{result} Others cannot be read: {rest}"


def left_elsewhere(study: int, host: str) -> str:
    """Return the sentence about a killed becalm that measured on another machine, whose last runs are still there."""
    return (
        f"The becalm that measured study {study} was killed. Runs that had not arrived may still be on {host}: the "
        "next one that measures there fetches them."
    )


_ROWS = {
    "run": ("run", "runs"),
    "load": ("record of load", "records of load"),
    "series": ("series of load", "series of load"),
    "text": ("output", "outputs"),
}
"""The names of the parts of a stored study, singular and plural."""


def damaged_rows(study: int, damaged: Mapping[str, tuple[int, int]]) -> str:
    """Return the sentence about damaged or missing rows of a store; pairs of their number and the number of all."""
    lost = [(*damaged[kind], words) for kind, words in _ROWS.items() if kind in damaged]
    parts = [f"{many:,} of {of:,} {words[of != 1]}" for many, of, words in lost]
    rest = "the other runs" if "run" in damaged else "the rest"
    return (
        f"{join_names(parts)} of study {study} are damaged: they are not as they were stored, and are left out. Check "
        f"the disk, and move the store aside; `becalm export` saves {rest}."
    )


def missing_runs(study: StoredStudy) -> str:
    """Return the sentence about runs that a store has lost without a trace."""
    pronoun = "it" if study.missing_at_end == 1 else "them"
    return (
        f"In study {study.number} {last_missing(study)}: the store has lost {pronoun}. Check the disk, and "
        "move the store aside; `becalm export` saves the other runs."
    )


def damage(study: StoredStudy) -> str:
    """Return the damage or loss of a study as a part of a sentence; empty for an intact one."""
    return study.wrong or (last_missing(study) if study.missing else "")


def last_missing(study: StoredStudy) -> str:
    """Return the number of missing runs as a part of a sentence, and whether they are the last ones."""
    count, of = study.missing_at_end or study.missing, study.rows + study.missing
    last = "the last " if study.missing_at_end else ""
    many = "run" if last and count == 1 else f"{count:,}"
    return f"{last}{many} of its {counted(of, 'run')} {are(count)} missing"


def kept(study: int | None, rounds: int) -> str:
    """Return the hint at finished runs after an error; empty where there are none."""
    return f" See `becalm show {study}`." if study is not None and rounds else ""


def left_behind(name: str, runs: int) -> str:
    """Return the sentence about descendants that outlived their program."""
    return (
        f"{name} left processes running in {counted(runs, 'run')}; they were killed when the run was over, and what "
        "they did afterwards is not in its times."
    )


def drift(change: Mapping[str, Any]) -> str:
    """Return the sentence about a setting that something else changed while becalm held it."""
    return (
        f"{change['knob']}: {change['place']} was changed to {change['found']!r} while it was set to "
        f"{change['wanted']!r}. "
        "The last runs were made with other settings than requested. A service may do that: `becalm doctor` names "
        "those that run; --set services=pause pauses them."
    )
