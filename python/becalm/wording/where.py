"""Sentences and tables of the functions in which two programs differ."""

from __future__ import annotations

from becalm.results.where import FunctionDifference, Presence, Source, Where
from becalm.wording.metric import quantity
from becalm.wording.numbers import percent

TITLE = "Functions"
HEAD = ("function", "in", "old", "new", "change")


def sentence(where: Where) -> str:
    """Return the sentence on which functions the difference comes from."""
    named, what = where.named, "CPU time" if where.source is Source.SAMPLES else "instructions"
    basis = f"{where.runs} profiles of each program" if where.source is Source.SAMPLES else "exact counts"
    if not named:
        return f"No function was shown to take more or less {what} in {where.new} than in {where.old} ({basis})."
    first = named[0]
    verb = {
        Presence.BOTH: "takes more" if first.share > 0 else "takes less",
        Presence.APPEARED: "is new",
        Presence.DISAPPEARED: "is gone",
    }[first.presence]
    more = f", and {len(named) - 1} other function{'s' * (len(named) > 2)} differ" if len(named) > 1 else ""
    more = more.replace("function differ", "function differs")
    return f"The difference comes first from {first.name}, which {verb} ({change(first)} of all {what}){more}; {basis}."


def change(function: FunctionDifference) -> str:
    """Return the change of a function as a percentage of the whole old program."""
    half = max((function.high - function.low) / 2, abs(function.share) / 100)
    return f"{percent(function.share, half, sign=True)} %"


def cells(function: FunctionDifference, source: Source) -> tuple[str, ...]:
    """Return a row of the table."""
    unit = "s" if source is Source.SAMPLES else ""
    old = "" if function.presence is Presence.APPEARED else quantity(function.old, unit)
    new = "" if function.presence is Presence.DISAPPEARED else quantity(function.new, unit)
    change_text = change(function) if function.named else f"({change(function)})"
    return function.name, function.code, old, new, change_text


def rows(where: Where) -> tuple[tuple[str, ...], ...]:
    """Return the rows of the table."""
    last = rest(where)
    return (*(cells(function, where.source) for function in where.functions), *(() if last is None else (last,)))


def rest(where: Where) -> tuple[str, ...] | None:
    """Return the row that sums up the functions without a row; None where there are none."""
    count, share = where.others
    if not count or (where.source is Source.COUNTS and share == 0):
        return None
    return f"{count} more function{'s' * (count > 1)}", "", "", "", f"({percent(share, 0.001, sign=True)} %)"


def legend(where: Where) -> str:
    """Return the explanation of the table's figures."""
    what = "CPU time of a run" if where.source is Source.SAMPLES else "Instructions of a run"
    text = (
        f"{what}, without callees. Change: as a share of the total of {where.old}; in brackets where it is not certain."
    )
    if where.rate:
        text += f" On average at most {100 * where.rate:g} % of the functions that are named are false alarms."
    return text
