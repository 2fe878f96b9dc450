"""The report of `becalm bisect`: the commit, then what was measured and what was skipped."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.bisection import BisectResult
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.wording.history import short, size
from becalm.wording.measurement import percent


def on_terminal(found: BisectResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = found.sentence.splitlines()
    return apart(
        [Group(Text(first, "" if plain else "bold"), *map(Text, rest)), *(grid(t, plain) for t in tables(found))]
    )


def tables(found: BisectResult) -> Iterator[Table]:
    """Yield the measured commits in their order, and the skipped ones."""
    rows = tuple(
        (
            short(each.commit),
            size(each.size, (each.high - each.low) / 2) if math.isfinite(each.high) else f"{percent(each.size)} %",
            str(each.pairs),
            f"{percent(each.behind, 0.01)} %",
            each.subject,
        )
        for each in found.probes
    )
    if rows and (found.first or found.suspects):
        note = "behind: probability that the commit has the change already."
        head = ("commit", "against good", "pairs", "behind", "subject")
        yield Table("Measured", head, rows, (1, 2, 3), note, spare=(4, 2), names=(4,))
    elif rows:
        # No commit is behind a change that was not seen.
        without = tuple((*row[:3], row[4]) for row in rows)
        yield Table(
            "Measured", ("commit", "against good", "pairs", "subject"), without, (1, 2), spare=(3, 2), names=(3,)
        )
    if found.unusable:
        skipped = tuple((short(commit), reason) for commit, reason in found.unusable.items())
        yield Table("Skipped", ("commit", "why"), skipped)
