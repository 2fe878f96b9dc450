"""The report of `becalm bisect`: the commit, then the measured and the skipped commits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.bisect import BisectResult
from becalm.wording.history import short, size
from becalm.wording.numbers import percent


def on_terminal(result: BisectResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = result.sentence.splitlines()
    return apart(
        [Group(Text(first, "" if plain else "bold"), *map(Text, rest)), *(grid(t, plain) for t in tables(result))]
    )


def tables(result: BisectResult) -> Iterator[Table]:
    """Yield the measured commits in their order, then the skipped ones."""
    rows = tuple(
        (
            short(probe.commit),
            size(probe.size, (probe.high - probe.low) / 2) if math.isfinite(probe.high) else f"{percent(probe.size)} %",
            str(probe.pairs),
            f"{percent(probe.behind, 0.01)} %",
            probe.subject,
        )
        for probe in result.probes
    )
    if rows and (result.first or result.suspects):
        note = "behind: probability that the commit has the change already."
        head = ("commit", "against good", "pairs", "behind", "subject")
        yield Table("Measured", head, rows, (1, 2, 3), note, spare=(4, 2), names=(4,))
    elif rows:
        # Without a visible change no commit is behind it.
        without = tuple((*row[:3], row[4]) for row in rows)
        yield Table(
            "Measured", ("commit", "against good", "pairs", "subject"), without, (1, 2), spare=(3, 2), names=(3,)
        )
    if result.unusable:
        skipped = tuple((short(commit), reason) for commit, reason in result.unusable.items())
        yield Table("Skipped", ("commit", "why"), skipped)
