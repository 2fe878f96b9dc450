"""The report of `becalm clock --compare`: the differences, then every figure, then the trust in both clocks."""

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
    """Yield t_min and t_diff of each timer in both evaluations, then both statements of trust."""
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
    trust, other_trust = (dict(words.trusted(trust)) for trust in comparison.trusts)
    facts = tuple(
        (fact, trust.get(fact, ""), other_trust.get(fact, "")) for fact in dict.fromkeys((*trust, *other_trust))
    )
    yield Table("What the clocks are worth", ("", first, second), facts)
