"""`becalm clock`: how short a time, and how small a change of it, the timers of a machine can show.

`clock` measures, or reads a stored evaluation; `compare_clocks` compares two evaluations.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from becalm import hosts
from becalm.analysis import clock_choice, clock_comparison
from becalm.errors import Interrupted, MachineError, UsageError
from becalm.files.cells import write_rows
from becalm.files.written import target, writing
from becalm.hosts.protocol import Access
from becalm.hosts.timer_evaluation import evaluate, evaluate_on
from becalm.nouns.stopping_rule import StoppingRule
from becalm.results.clock import ClockComparison, ClockReport, TimerAbsence, TimerCell
from becalm.results.progress import Progress, ProgressListener, Quiet
from becalm.store import kept_clocks, timer_limits
from becalm.store.timer_cells import TimerCells
from becalm.units import duration_ns
from becalm.wording import clock as words
from becalm.wording import study_findings

FILTERS = ("robust", "forest", "none")
SEARCHES = ("grid", "published")

QUICK_NS = 18_000_000_000
"""The time for the cells of a quick evaluation, which stays within 20 s with start and self-checks, ns."""

LEAST_NS = 100_000_000
"""The least budget, for self-checks and one cell of a timer without a flush, ns."""

QUICK_FLUSHES = ("L1", "L2")
"""The flushes of a quick evaluation; larger ones take too long before each measurement."""

QUICK_TIMERS = ("barrier", "clock_gettime", "clock_gettime call", "cycles", "PAPI_get_real_nsec")
"""The timers that users choose between; other spellings of the same reads need the full evaluation."""


def clock(
    *,
    host: str = "local",
    budget: float | str | None = None,
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
    keep: str | None = None,
    stored: str | None = None,
    listener: ProgressListener | None = None,
) -> ClockReport:
    """Evaluate a machine's timers: a statement of trust, then t_min and t_diff of each at each flush size.

    Arguments:
        host: the machine: local, ssh://…, guest:….
        budget: time for everything, seconds or text with a unit; None: 5 min, or 20 s with `quick`.
        quick: the usual timers, without the flushes that take longest.
        cpu: the processor that measures; None: the last one that this process may use.
        timers, flushes: names; none: all. FILE.so:FUNCTION is a timer of one's own: `uint64_t FUNCTION(void)`.
        filter: how the operating system's share is separated: robust, forest, none.
        search: grid, or published: the paper's scan with the paper's numbers.
        seed: the seed of the order of measurements, and of the forest.
        check: a length; the report's exit code is the answer whether it can be timed.
        resume: continue an interrupted evaluation with the same options.
        ticks: a CSV file to write, with the number of times that each value was read.
        keep: a name under which to store the evaluation.
        stored: the name of a stored evaluation, "last", or a path to its JSON: nothing is measured then.
        listener: called with the progress.

    After an interruption the report uses the cells that were measured. Raises UsageError, MachineError, Interrupted.
    """
    _known("filter", filter, FILTERS)
    _known("search", search, SEARCHES)
    name = None if keep is None else kept_clocks.check_name(keep)
    wanted_ns = None if check is None else duration_ns(check)
    if ticks is not None:
        target(ticks)
    if stored is not None:
        report = kept_clocks.find(stored)
    else:
        request = {"filter": filter, "search": search, "seed": seed, "cpu": cpu}
        request["timers"] = list(timers or (QUICK_TIMERS if quick else ()))
        request["flushes"] = list(flushes or (QUICK_FLUSHES if quick else ()))
        budget_ns = _budget_ns(budget, quick)
        _usable(timers, host)
        report = _measured(request, budget_ns, host, resume, listener or Quiet())
        if not report.interrupted and any(cell.t_min for cell in report.cells):
            kept_clocks.keep(kept_clocks.LAST, report)
        if (limit := clock_choice.region_limit(report)) is not None:
            timer_limits.keep(host, limit)
    if name is not None:
        kept_clocks.keep(name, report)
    if wanted_ns is not None:
        answer = clock_choice.check(report.cells, wanted_ns)
        report = replace(report, check=answer, sentence=f"{words.checked(answer)}\n{report.sentence}")
    if ticks is not None:
        write_ticks(report.cells, Path(ticks))
    return report


def compare_clocks(first: str, second: str) -> ClockComparison:
    """Compare two stored evaluations: of two machines, or of one at two times.

    Arguments:
        first, second: names of stored evaluations, "last", or paths to their JSON.

    Raises UsageError for a source that is not an evaluation.
    """
    first_report, second_report = kept_clocks.find(first), kept_clocks.find(second)
    pairs = tuple(clock_comparison.pairs(first_report, second_report))
    trusts = (first_report.trust, second_report.trust)
    sentence = words.comparison((first, second), clock_comparison.same_clock(*trusts), pairs)
    return ClockComparison(sentence, (first, second), trusts, pairs)


def _measured(
    request: dict[str, Any], budget_ns: int, host: str, resume: bool, listener: ProgressListener
) -> ClockReport:
    """Run the engine and store its results as they arrive."""
    question = {**request, "host": host}
    store = TimerCells()
    before = store.read(question) if resume else []
    gathered = _Gathered(host, [event_ for event_ in before if event_["event"] == "cell"])
    done = list(gathered.cells)
    begun = bool(before)
    listener.started(None, ["timers"], StoppingRule(budget_ns=budget_ns))
    try:
        with closing(_events(host, {**request, "budget_ns": budget_ns, "done": done})) as events:
            for event in events:
                if event["event"] == "trust" and before:
                    _same_clock(before, event)
                if event["event"] in ("trust", "cell"):
                    # Stored only after the engine has accepted the question, so that a refused one replaces nothing.
                    if not begun:
                        store.begin(question)
                        begun = True
                    store.add(event)
                gathered.take(event)
                many = len(gathered.cells) - len(done)
                share = many / max(1, gathered.planned)
                listener.progressed(Progress(gathered.elapsed_ns, many, many, share, None))
    except KeyboardInterrupt:
        gathered.interrupted = True
    if gathered.trust is None:
        raise Interrupted("Interrupted before anything was known of the clock. Start the evaluation again.")
    return gathered.report(len(done))


def _events(host: str, request: dict[str, Any]) -> Generator[dict[str, Any]]:
    if host == "local":
        yield from evaluate(request)
    else:
        with hosts.open(host, Access(title="becalm clock")) as machine:
            yield {"event": "emulated", "reason": hosts.emulated(machine)}
            yield from evaluate_on(machine, request)


class _Gathered:
    """The results so far; a cell that was tried again counts once."""

    def __init__(self, host: str, cells: list[dict[str, Any]]) -> None:
        self.host = host
        self.trust: dict[str, Any] | None = None
        self.doubts: tuple[str, ...] = ()
        self.cells = {(cell["timer"], cell["flush"]): cell for cell in cells}
        self.emulated = ""
        self.absences: list[TimerAbsence] = []
        self.planned = 0
        self.elapsed_ns = 0
        self.interrupted = False

    def take(self, event: dict[str, Any]) -> None:
        """Add an event."""
        match event["event"]:
            case "trust":
                self.trust, self.doubts = event["trust"], tuple(event["doubts"])
            case "emulated":
                self.emulated = event["reason"]
            case "absent":
                self.absences.append(TimerAbsence(event["timer"], event["flush"], event["reason"]))
            case "planned":
                self.planned = event["cells"]
            case "cell":
                self.cells[event["timer"], event["flush"]] = event
                self.elapsed_ns = sum(cell["elapsed_ns"] for cell in self.cells.values())

    def report(self, resumed: int) -> ClockReport:
        """Return the report on the results."""
        # A cell that was measured in a later round is listed with the other cells of its flush.
        place = {flush: number for number, flush in enumerate(dict.fromkeys(flush for _, flush in self.cells))}
        ordered = sorted(self.cells.values(), key=lambda cell: place[cell["flush"]])
        cells = tuple(map(TimerCell.of, ordered))
        choices = clock_choice.choices(cells)
        lines = [words.chosen(choice.cell) for choice in choices] or [words.nothing_measured(len(cells))]
        lines += [words.DOUBTS.get(doubt, doubt) for doubt in self.doubts]
        lines += [study_findings.emulated("", {"reason": self.emulated})] if self.emulated else []
        tries = [cell.tries for cell in cells]
        lines += [words.searched(min(tries), max(tries))] if max(tries, default=1) > 1 else []
        lines += [words.going_on(resumed)] if resumed else []
        lines += [words.INTERRUPTED] if self.interrupted else []
        # A cell that could be measured at a later attempt is not absent.
        absences = dict.fromkeys(
            absence for absence in self.absences if (absence.timer, absence.flush) not in self.cells
        )
        return ClockReport(
            "\n".join(lines),
            self.trust or {},
            self.doubts,
            cells,
            tuple(absences),
            interrupted=self.interrupted,
            resumed=resumed,
            host=self.host,
            emulated=self.emulated,
        )


def write_ticks(cells: Iterable[TimerCell], path: Path) -> None:
    """Write how often each value of the last set of each cell was read, as CSV. Raises MachineError."""
    try:
        with writing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            write_rows(text, [("timer", "flush", "additions", "unit", "value", "count")], end="\r\n")
            for cell in cells:
                head = (cell.timer, cell.flush, cell.reference_additions, cell.unit)
                write_rows(text, ((*head, value, count) for value, count in cell.reference), end="\r\n")
            text.detach()
    except OSError as error:
        raise MachineError(f"The ticks cannot be written to {path}: {error.strerror}.") from error


def _budget_ns(budget: float | str | None, quick: bool) -> int:
    """Return the time for everything, ns. Raises UsageError if it is too short for the checks at the start."""
    if budget is None:
        return QUICK_NS if quick else duration_ns("5min")
    if (budget_ns := duration_ns(budget)) < LEAST_NS:
        raise UsageError(f"A budget of {budget} is too short for one cell; {LEAST_NS // 10**6} ms are needed at least.")
    return budget_ns


def _usable(timers: Sequence[str], host: str) -> None:
    """Raise UsageError for a user's timer that does not exist or is for another machine."""
    for name in timers:
        path, colon, _ = name.rpartition(".so:")
        if colon and host != "local":
            raise UsageError(f"The timer {name} is a file of this machine; {host} cannot load it. Leave out --host.")
        if colon and not Path(f"{path}.so").is_file():
            raise UsageError(f"The timer {name} names a file that is not there: {path}.so.")


def _known(noun: str, value: str, names: Sequence[str]) -> None:
    if value not in names:
        raise UsageError(f"{value!r} is not a {noun}; there are: {', '.join(names)}.")


def _same_clock(before: Sequence[dict[str, Any]], event: dict[str, Any]) -> None:
    """Raise UsageError for cells of another machine, which must not be mixed with those of this one."""
    first = next((event_["trust"] for event_ in before if event_["event"] == "trust"), event["trust"])
    if not clock_comparison.same_clock(first, event["trust"]):
        raise UsageError(
            "The earlier cells were measured on another machine: its counter runs at another rate. Leave --resume out."
        )
