"""`becalm clock`: how short a time, and how small a change of it, the timers of this machine can show."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from becalm.analysis import timer_choice
from becalm.errors import Interrupted, MachineError, UsageError
from becalm.hosts.timer_evaluation import evaluate
from becalm.nouns.progress import Progress, ProgressListener, Quiet
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.timer import ClockReport, TimerAbsence, TimerCell
from becalm.store.timer_cells import TimerCells
from becalm.units import duration_ns
from becalm.wording import clock as words

FILTERS = ("robust", "forest", "none")
SEARCHES = ("grid", "published")

QUICK_NS = 18_000_000_000
"""Time for the cells of a quick evaluation: with start and self-checks it stays within 20 s."""

QUICK_FLUSHES = ("L1", "L2")
"""What a quick evaluation has time for: writing more takes too long before each measurement."""

SAME_CLOCK = 1e-3
"""Two evaluations whose counters differ by more than this share in frequency are of different machines."""


def clock(
    *,
    budget: float | str = "5min",
    quick: bool = False,
    cpu: int | None = None,
    timers: Sequence[str] = (),
    flushes: Sequence[str] = (),
    filter: str = "robust",
    search: str = "grid",
    seed: int = 1,
    check: float | str | None = None,
    resume: bool = False,
    ticks: str | Path | None = None,
    listener: ProgressListener | None = None,
) -> ClockReport:
    """Evaluate this machine's timers: a statement of trust, then t_min and t_diff of each at each flush size.

    Arguments:
        budget: time for everything, seconds or text with a unit.
        quick: within 20 s, and without the flushes that take longest.
        cpu: the processor that measures; None: the last one that this process may use.
        timers, flushes: names; none: all.
        filter: how the operating system's share is told: robust, forest, none.
        search: grid, or published: the paper's scan with the paper's numbers.
        seed: of the order of measurements and of the forest.
        check: a length; the report's exit code says whether it can be timed.
        resume: go on with an evaluation that asked for the same and was interrupted.
        ticks: a CSV file for how often each value was read.
        listener: told of the progress.

    Interrupted, the report rests on the cells that were measured. Raises UsageError, MachineError, Interrupted.
    """
    _known("filter", filter, FILTERS)
    _known("search", search, SEARCHES)
    wanted = None if check is None else duration_ns(check)
    budget_ns = QUICK_NS if quick else duration_ns(budget)
    told = listener or Quiet()
    asked = {"filter": filter, "search": search, "seed": seed, "cpu": cpu, "timers": list(timers)}
    asked["flushes"] = list(flushes or (QUICK_FLUSHES if quick else ()))
    kept = TimerCells()
    before = kept.read(asked) if resume else []
    cells = [each for each in before if each["event"] == "cell"]
    done = [(each["timer"], each["flush"]) for each in cells]
    if not before:
        kept.begin(asked)
    gathered = _Gathered(cells=list(cells))
    told.started(None, ["timers"], StoppingRule(budget_ns=budget_ns))
    try:
        for event in evaluate({**asked, "budget_ns": budget_ns, "done": done}):
            if event["event"] == "trust" and before:
                _same_clock(before, event)
            if event["event"] in ("trust", "cell"):
                kept.add(event)
            gathered.take(event)
            share = (len(gathered.cells) - len(done)) / max(1, gathered.planned)
            many, spent = len(gathered.cells) - len(done), gathered.elapsed_ns
            told.progressed(Progress(spent, many, many, share, None))
    except KeyboardInterrupt:
        gathered.interrupted = True
    if gathered.trust is None:
        raise Interrupted("It was interrupted before anything was known of the clock. Start it again.")
    report = gathered.report(wanted, len(done))
    if ticks is not None:
        write_ticks(report.cells, Path(ticks))
    return report


class _Gathered:
    """What was told so far."""

    def __init__(self, cells: list[dict[str, Any]]) -> None:
        self.trust: dict[str, Any] | None = None
        self.doubts: tuple[str, ...] = ()
        self.cells = cells
        self.absences: list[TimerAbsence] = []
        self.planned = 0
        self.elapsed_ns = 0
        self.interrupted = False

    def take(self, event: dict[str, Any]) -> None:
        """One more event."""
        match event["event"]:
            case "trust":
                self.trust, self.doubts = event["trust"], tuple(event["doubts"])
            case "absent":
                self.absences.append(TimerAbsence(event["timer"], event["flush"], event["reason"]))
            case "planned":
                self.planned = event["cells"]
            case "cell":
                self.cells.append(event)
                self.elapsed_ns += event["elapsed_ns"]

    def report(self, wanted_ns: int | None, resumed: int) -> ClockReport:
        """What it comes to."""
        cells = tuple(TimerCell.from_json(each) for each in self.cells)
        check = None if wanted_ns is None else timer_choice.check(cells, wanted_ns)
        lines = [] if check is None else [words.checked(check)]
        found = timer_choice.choices(cells)
        lines += [words.chosen(each.cell) for each in found] or [words.nothing_measured(len(cells))]
        lines += [words.DOUBTS.get(each, each) for each in self.doubts]
        lines += [words.going_on(resumed)] if resumed else []
        lines += [words.INTERRUPTED] if self.interrupted else []
        return ClockReport(
            "\n".join(lines),
            self.trust or {},
            self.doubts,
            cells,
            tuple(self.absences),
            check,
            self.interrupted,
            resumed,
        )


def write_ticks(cells: Iterable[TimerCell], path: Path) -> None:
    """How often each value of the last set of each cell was read, as CSV. Raises MachineError."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("timer", "flush", "additions", "unit", "value", "count"))
            for cell in cells:
                head = (cell.timer, cell.flush, cell.reference_additions, cell.unit)
                writer.writerows((*head, value, count) for value, count in cell.reference)
    except OSError as error:
        raise MachineError(f"The ticks cannot be written to {path}: {error.strerror}.") from error


def _known(what: str, given: str, names: Sequence[str]) -> None:
    if given not in names:
        raise UsageError(f"{given!r} is not a {what}; there are: {', '.join(names)}.")


def _same_clock(before: Sequence[dict[str, Any]], event: dict[str, Any]) -> None:
    """Cells of another machine are not mixed with those of this one."""
    first = next((each["trust"] for each in before if each["event"] == "trust"), event["trust"])
    now = event["trust"]
    if first["source"] != now["source"] or abs(first["hz"] / now["hz"] - 1) > SAME_CLOCK:
        raise UsageError(
            "What was measured before is of another machine: its counter runs at another rate. Leave out --resume."
        )
