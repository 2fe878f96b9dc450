"""Live progress: what is measured, how far, the interval as it stands, and what would end it.

On a terminal a few lines that change at most twice a second, so that showing disturbs measuring as little as it can;
elsewhere a plain line now and then; nothing when asked to be quiet. A listener of `becalm.measure`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from becalm.listener import Listener, Progress, Quiet
from becalm.plan import Goal
from becalm.report.sentence import counted, duration, percent, spent
from becalm.report.terminal import console
from becalm.verdict import Difference, Verdict

REFRESHES = 2.0
PLAIN_EVERY_S = 10.0


@contextmanager
def listener(*, quiet: bool, plain: bool) -> Iterator[Listener]:
    """The progress display for where standard error goes."""
    out = console(plain=plain, stderr=True)
    if quiet:
        yield Warnings(out)
    elif plain or not out.is_terminal:
        yield Lines(out)
    else:
        with Live(console=out, refresh_per_second=REFRESHES, transient=True) as live:
            yield Display(live)


class Warnings(Quiet):
    """Says what a person should know now, and nothing else."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def warned(self, sentence: str) -> None:
        """Print it."""
        self._out.print(f"becalm: {sentence}", markup=False)


class Lines(Warnings):
    """A line every ten seconds, for logs."""

    def __init__(self, out: Console) -> None:
        super().__init__(out)
        self._last = time.monotonic()

    def progressed(self, state: Progress) -> None:
        """Print where it stands, if it is time."""
        if time.monotonic() - self._last < PLAIN_EVERY_S:
            return
        self._last = time.monotonic()
        self._out.print("; ".join([_counts(state), *_intervals(state.verdict)]), markup=False)


class Display(Warnings):
    """Lines at the bottom of a terminal."""

    def __init__(self, live: Live) -> None:
        super().__init__(live.console)
        self._live = live
        self._goal = Goal()
        self._names: Sequence[str] = ()
        self._state: Progress | None = None
        self._moved = time.monotonic()
        live.get_renderable = self._draw  # type: ignore[method-assign]

    def started(self, study: int | None, names: Sequence[str], goal: Goal) -> None:
        """Measuring begins."""
        self._names, self._goal, self._moved = names, goal, time.monotonic()

    def running(self, done: int) -> None:
        """Runs have finished."""
        self._moved = time.monotonic()

    def progressed(self, state: Progress) -> None:
        """The data were looked at."""
        self._state = state

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [
            Text("  |  ".join(self._names) or "Starting", "bold", overflow="ellipsis", no_wrap=True)
        ]
        state = self._state
        if state is not None:
            row = Table.grid(padding=(0, 2))
            bar = ProgressBar(total=1.0, completed=state.fraction, width=30)
            row.add_row(bar, Text(_counts(state)), Text(self._ends(), "dim"))
            parts.append(row)
            parts += [Text("  " + line) for line in _intervals(state.verdict)]
        waiting_s = time.monotonic() - self._moved
        if waiting_s > max(5.0, (self._goal.budget_ns or math.inf) / 1e9):
            hint = f"This run has taken {waiting_s:.0f} s. Ctrl-C stops it; --timeout limits such runs."
            parts.append(Text(hint, "yellow"))
        return Group(*parts)

    def _ends(self) -> str:
        goal = self._goal
        limits = [] if goal.budget_ns is None else [f"at most {spent(goal.budget_ns)}"]
        limits += [] if goal.runs is None else [counted(goal.runs, "round")]
        limits += [] if goal.precision is None else [f"until ±{percent(goal.precision)} %"]
        return ", ".join(limits) or "until Ctrl-C"


def _counts(state: Progress) -> str:
    return f"{counted(state.rounds, 'round')}, {spent(state.elapsed_ns)}"


def _intervals(verdict: Verdict | None) -> list[str]:
    if verdict is None:
        return []
    if verdict.differences:
        return [f"{d.name} {_interval(d)}" for d in verdict.differences]
    return [
        f"{s.name} {duration(s.mean_ns.value)}"
        + (
            f" ± {percent((s.mean_ns.high - s.mean_ns.low) / 2 / s.mean_ns.value)} %"
            if math.isfinite(s.mean_ns.high - s.mean_ns.low)
            else ""
        )
        for s in verdict.summaries
    ]


def _interval(d: Difference) -> str:
    half = (d.high - d.low) / 2
    if not math.isfinite(half):
        return "not yet known"
    ends = f"{percent(d.low, half, sign=True)} … {percent(d.high, half, sign=True)} %"
    return f"{percent(d.estimate, half, sign=True)} % ({ends})"
