"""Placements tried in simulation, and trained placement methods, as tables on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.placement.trials import PlacementTrials
from becalm.placement.validation import Training
from becalm.report import markdown
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.wording import place_trials as wording
from becalm.wording.numbers import duration


def on_terminal(trials: PlacementTrials | Training, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence, the tables and the notes."""
    del columns
    parts: list[RenderableType] = [Text(sentence(trials), "" if plain else "bold")]
    for table in tables(trials):
        parts += [Text(), grid(table, plain)]
    parts += [Text(), *(Text(note, "" if plain else "dim") for note in notes(trials))]
    return Group(*parts)


def as_markdown(trials: PlacementTrials | Training) -> str:
    """Return the report in Markdown."""
    lines = [sentence(trials)]
    for table in tables(trials):
        lines += ["", *([f"**{table.title}**", ""] if table.title else []), *markdown.grid(table)]
    return markdown.written([*lines, "", *notes(trials)])


def sentence(trials: PlacementTrials | Training) -> str:
    """Return the sentence at the top."""
    return trials.sentence if isinstance(trials, PlacementTrials) else wording.learned(trials)


def notes(trials: PlacementTrials | Training) -> list[str]:
    """Return the notes at the bottom."""
    if isinstance(trials, Training):
        return [
            note for note in (trials.skipped, *(f"Written: {path}" for path in trials.saved), wording.origin()) if note
        ]
    return [*(f"{row.method}: {row.refused}" for row in trials.rows if row.refused), wording.origin()]


def tables(trials: PlacementTrials | Training) -> Iterator[Table]:
    """Yield the methods by the cost of their placement; trained methods by what was held out."""
    if isinstance(trials, Training):
        yield from _trained(trials)
        return
    best = trials.best or 0.0
    known = [(row.cost(trials.objective), row) for row in trials.rows]
    placed = [(cost, row) for cost, row in known if cost is not None]
    rows, where = [], []
    for cost, trial in sorted(placed, key=lambda pair: pair[0]):
        assert trial.played is not None
        assert trial.placement is not None
        unfairness = None if trial.expected is not None else trial.played.unfairness
        rows.append(
            (
                trial.method, f"{100 * cost:.3f} %", f"{100 * (cost / best - 1):.2f} %" if best else "0 %",
                "" if unfairness is None else f"{unfairness:.0f}",
                duration(trial.placement.decision_ns),
            )
        )  # fmt: skip
        sharing = " | ".join(" ".join(names) for names in trial.placement.sharing)
        where.append((trial.method, sharing if trial.expected is None else "any: the mean of all sharings"))
    head = ("method", "lost on average", "over the best", "unfairness", "decided in")
    yield Table("", head, tuple(rows), (1, 2, 3, 4))
    yield Table("", ("method", "chips"), tuple(where))


def _trained(training: Training) -> Iterator[Table]:
    for held_out in ("workloads", "programs"):
        rows = tuple(
            (
                score.method, f"{100 * score.accuracy:.1f} %", f"{score.precision:.3f}", f"{score.recall:.3f}",
                f"{score.f:.3f}", f"{100 * score.regret:.3f} %", f"{100 * score.optimum:.3f} %",
            )
            for score in training.scores
            if score.held_out == held_out
        )  # fmt: skip
        head = ("method", "right", "precision", "recall", "F", "over the best", "best loses")
        yield Table(f"{held_out} held out", head, rows, (1, 2, 3, 4, 5, 6))
    costs = tuple((cost.method, f"{cost.correlation:.4f}", f"{100 * cost.error:.3f} %") for cost in training.costs)
    yield Table("costs of sets of programs held out", ("method", "correlation", "mean error"), costs, (1, 2))
