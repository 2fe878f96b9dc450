"""The report of `becalm clock --compare`: what differs first, then every figure, then what the clocks are worth."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from becalm.report.clock.report import headed
from becalm.report.table import Table
from becalm.results.clock import ClockComparison
from becalm.wording import clock as words


def on_terminal(comparison: ClockComparison, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return headed(comparison.sentence, tables(comparison), plain)


def tables(comparison: ClockComparison) -> Iterator[Table]:
    """Yield t_min and t_diff of each timer in both, and both statements of trust."""
    first, second = comparison.names
    head = ("timer", "from", "figure", first, second, "ratio", "differs")
    rows = tuple(
        (
            pair.timer,
            pair.flush,
            pair.figure,
            words.length(pair.first),
            words.length(pair.second),
            words.factor(pair.ratio),
            words.differs(pair),
        )
        for pair in comparison.pairs
    )
    yield Table("Timers", head, rows, (3, 4, 5), words.DIFFERS)
    one, two = (dict(words.trusted(trust)) for trust in comparison.trusts)
    said = tuple((what, one.get(what, ""), two.get(what, "")) for what in dict.fromkeys((*one, *two)))
    yield Table("What the clocks are worth", ("", first, second), said)
