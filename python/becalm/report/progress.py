"""Live progress, a listener of `becalm.study.measure`: the measured programs, the state, the interval, and the end.

A terminal shows a few lines that change at most twice a second, so that showing disturbs measuring as little as
possible. Elsewhere a plain line is printed now and then; with --quiet nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from becalm import system_clock
from becalm.nouns.stopping_rule import StoppingRule
from becalm.report.program_output import OutputListener
from becalm.report.terminal import console
from becalm.results.compare import Answer, Difference, Verdict
from becalm.results.progress import Progress, ProgressListener, SearchProgress
from becalm.wording.compare import MANY
from becalm.wording.metric import measured, quantity
from becalm.wording.numbers import counted, duration, percent, spent
from becalm.wording.short_names import short, shortened

REFRESHES = 2.0
"""The number of times per second that the display is drawn."""

PLAIN_EVERY_S = 10.0
LONG_RUN_S = 5.0
"""The length from which a single run that also exceeds the whole budget gets a hint, s."""

MOST_INTERVALS = 12
"""The number of comparisons shown while measuring; more would not fit on a small terminal."""


@contextmanager
def listener(
    *, quiet: bool = False, live: bool = True, lines: bool = True, plain: bool = False, limits: bool = True
) -> Iterator[ProgressListener]:
    """Yield the progress display that suits standard error.

    Arguments:
        quiet: write warnings only.
        live: redraw the display in place if standard error is a terminal.
        lines: otherwise, write a line every ten seconds.
        plain: use ASCII only, without colours.
        limits: whether the verb has the option `--timeout`, which hints may name.
    """
    out = console(plain=plain, stderr=True)
    if not quiet and live and out.is_terminal:
        # Neither stream is redirected: only the display writes to this terminal while it measures.
        with Live(
            console=out,
            refresh_per_second=REFRESHES,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as display:
            yield Display(display, limits=limits)
    elif not quiet and lines:
        progress = Lines(out, limits=limits)
        try:
            yield progress
        finally:
            progress.close()
    else:
        yield Warnings(out)


class Warnings(OutputListener):
    """A listener that writes warnings, and the output of programs."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def warned(self, sentence: str) -> None:
        """Print the warning."""
        self._out.print(f"becalm: {sentence}", markup=False)


class Watch:
    """A watch on the current run that finds out whether its length deserves a hint.

    `clock`: returns seconds; `limits`: whether the hint may name `--timeout`.
    """

    def __init__(self, clock: Callable[[], float], limits: bool) -> None:
        self._clock, self._limits = clock, limits
        self.moved = clock()
        """The time when the last run ended, s."""
        self._patience_s = math.inf

    def started(self, goal: StoppingRule) -> None:
        """Start watching at the beginning of a measurement."""
        self.moved = self._clock()
        self._patience_s = max(LONG_RUN_S, 60.0 if goal.budget_ns is None else goal.budget_ns / 1e9)

    def running(self) -> None:
        """Record that a run has finished."""
        self.moved = self._clock()

    def hint(self) -> str:
        """Return a hint on a run that takes longer than the whole budget; empty for shorter ones."""
        waited = self._clock() - self.moved
        if waited <= self._patience_s:
            return ""
        return (
            f"A single run has taken {waited:.0f} s now, longer than the whole budget. Ctrl-C stops it and keeps what "
            f"is finished{'; --timeout limits such runs' if self._limits else ''}."
        )


class Lines(Warnings):
    """A line every ten seconds, for logs, and one when a run outlasts the budget."""

    def __init__(
        self, out: Console, clock: Callable[[], float] = system_clock.monotonic, *, limits: bool = True
    ) -> None:
        super().__init__(out)
        self._clock = clock
        self._last = clock()
        self._watch = Watch(clock, limits)
        self._best: Mapping[str, object] = {}
        self._line = ""
        self._ended = threading.Event()

    def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None:
        """Start writing lines at the beginning of a measurement."""
        self._watch.started(goal)
        threading.Thread(target=self._wait, name="becalm-progress", daemon=True).start()

    def _wait(self) -> None:
        while not self._ended.wait(PLAIN_EVERY_S):
            if hint := self._watch.hint():
                self.warned(hint)
                return

    def close(self) -> None:
        """End the lines with the measurement."""
        self._ended.set()

    def running(self, done: int) -> None:
        """Record that runs have finished."""
        self._watch.running()

    def searching(self, state: SearchProgress) -> None:
        """Write a line for every question of a search, with the best settings so far where they have changed."""
        self._last = self._clock()
        known, self._best = self._best, dict(state.best)
        news = replace(state, best={}) if known == self._best else state
        if state.cost:
            self._out.print(state.cost, markup=False)
        self._out.print("; ".join(search(replace(news, cost=""))), markup=False)

    def progressed(self, state: Progress) -> None:
        """Print the state of the measurement, at most every ten seconds."""
        if self._clock() - self._last < PLAIN_EVERY_S:
            return
        self._last = self._clock()
        line = "; ".join([counts(state), *intervals(state.verdict)])
        if line != self._line:
            self._out.print(line, markup=False)
        self._line = line


class Display(Warnings):
    """A few lines at the bottom of a terminal."""

    def __init__(self, live: Live, clock: Callable[[], float] = system_clock.monotonic, *, limits: bool = True) -> None:
        super().__init__(live.console)
        self._goal = StoppingRule()
        self._names: Sequence[str] = ()
        self._state: Progress | None = None
        self._search: SearchProgress | None = None
        self._clock, self._search_start = clock, 0.0
        self._done = 0
        self._watch = Watch(clock, limits)
        live.get_renderable = self.draw  # type: ignore[method-assign]

    def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None:
        """Start the display at the beginning of a measurement."""
        self._names, self._goal = short(names), goal
        self._watch.started(goal)

    def running(self, done: int) -> None:
        """Record that runs have finished."""
        self._done = done
        self._watch.running()

    def progressed(self, state: Progress) -> None:
        """Record a look at the data."""
        self._state = state

    def searching(self, state: SearchProgress) -> None:
        """Record the next question of a search."""
        self._search, self._search_start = state, self._clock()

    def draw(self) -> RenderableType:
        """Return the current display."""
        if self._search is not None:
            return self._searched(self._search)
        title = "  |  ".join(self._names) or "Starting …"
        parts: list[RenderableType] = [Text(title, "bold", overflow="ellipsis", no_wrap=True)]
        state = self._state
        if state is not None:
            row = Table.grid(padding=(0, 2))
            row.add_column()
            row.add_column(no_wrap=True)
            row.add_column(overflow="ellipsis", no_wrap=True)
            bar = ProgressBar(total=1.0, completed=state.fraction, width=20)
            row.add_row(bar, Text(counts(state)), Text(ends(self._goal), "dim"))
            parts.append(row)
            lines = intervals(state.verdict)
            parts += [Text("  " + line, overflow="ellipsis", no_wrap=True) for line in lines[:MOST_INTERVALS]]
            if len(lines) > MOST_INTERVALS:
                parts.append(Text(f"  and {len(lines) - MOST_INTERVALS} more", "dim"))
        elif self._names:
            parts.append(Text("first rounds …", "dim"))
        if hint := self._watch.hint():
            parts.append(Text(hint, "yellow"))
        return Group(*parts)

    def _searched(self, state: SearchProgress) -> RenderableType:
        phase, *rest = search(state)
        planned = max(1, (state.planned or self._done) - state.runs)
        runs = max(0, self._done - state.runs)
        done = min(1.0, runs / planned)
        # No run ends while a machine restarts or is lost; that does not lengthen the rest.
        left = (self._watch.moved - self._search_start) * (planned - runs) / runs if runs else math.nan
        times = [spent(state.elapsed_ns)]
        times += [f"about {spent(left * 1e9)} left of this step"] if math.isfinite(left) and left >= 1 else []
        times += [f"{spent(state.left_ns)} of the budget"] if state.left_ns else []
        row = Table.grid(padding=(0, 2))
        row.add_row(
            ProgressBar(total=1.0, completed=done, width=20),
            Text(f"{counted(self._done, 'run')} of {state.planned or '?'}", no_wrap=True),
            Text(", ".join(times), no_wrap=True),
        )
        parts: list[RenderableType] = [Text(phase, "bold", overflow="ellipsis", no_wrap=True), row]
        parts += [Text("  " + line, overflow="ellipsis", no_wrap=True) for line in rest]
        if hint := self._watch.hint():
            parts.append(Text(hint, "yellow"))
        return Group(*parts)


PHASES = {"look": "Looking", "search": "Searching", "confirm": "Confirming"}


NAMED = 6
"""The number of best settings that are named in a line of progress."""


def search(state: SearchProgress) -> list[str]:
    """Return the state of a search: the current question, and what is known so far."""
    arms = "" if state.arms == 1 else f", {state.arms} settings in turn"
    lines = [*([state.cost] if state.cost else []), f"{PHASES[state.phase]}: {state.why}{arms}"]
    if state.baseline is not None and math.isfinite(state.baseline):
        lines.append(f"baseline: {'' if state.timed else 'spread '}{_seen(state, state.baseline)}")
    if state.best:
        known = state.spread is not None and math.isfinite(state.spread)
        seen = f" (seen: {_seen(state, state.spread)})" if known and state.spread is not None else ""
        values = [f"{name}={value}" for name, value in state.best.items()]
        more = f" and {len(values) - NAMED} more" if len(values) > NAMED + 1 else ""
        lines.append(f"best so far{seen}: {', '.join(values[:NAMED] if more else values)}{more}")
    return lines


def _seen(state: SearchProgress, value: float) -> str:
    if state.timed and state.metric is not None:
        return quantity(state.metric.back((value, value, value))[0], state.metric.unit)
    return duration(value) if state.timed else f"{percent(value)} %"


def ends(goal: StoppingRule) -> str:
    """Return the limits that would end the measurement."""
    limits = [] if goal.budget_ns is None else [f"at most {spent(goal.budget_ns)}"]
    limits += [] if goal.runs is None else [counted(goal.runs, "round")]
    limits += [] if goal.precision is None else [f"until ±{percent(goal.precision)} %"]
    return ", ".join(limits) or "until Ctrl-C"


def counts(state: Progress) -> str:
    """Return the number of rounds and the time so far."""
    return f"{counted(state.rounds, 'round')}, {spent(state.elapsed_ns)}"


def intervals(verdict: Verdict | None) -> list[str]:
    """Return a line for each comparison, or for each program where nothing is compared."""
    if verdict is None:
        return []
    verdict = shortened(verdict)
    if len(verdict.differences) >= MANY and all(
        difference.answer is Answer.UNKNOWN for difference in verdict.differences
    ):
        return [f"nothing is known yet about {len(verdict.differences) + 1} programs"]
    if verdict.differences:
        return [f"{d.name}  {_interval(d)}" for d in verdict.differences]
    lines = []
    for summary in verdict.summaries:
        mean, _, _, shown = measured(summary)
        half = (mean.high - mean.low) / 2 / mean.value
        sure = f" ± {percent(half)} %" if math.isfinite(half) else ""
        lines.append(f"{summary.name}  {shown(mean.value)}{sure}")
    return lines


def _interval(d: Difference) -> str:
    half = d.half
    if not math.isfinite(half):
        return "not yet known"
    span = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
    return f"{percent(d.estimate, half, sign=True)} % ({span})"
