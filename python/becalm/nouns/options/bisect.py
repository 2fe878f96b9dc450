"""The options of `bisect`: the error of its answer, the time of a build, and the place of the working trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.errors import UsageError
from becalm.nouns.option import option
from becalm.nouns.options.measuring import schedule
from becalm.units import duration_ns, fraction


def parse_error(value: float | str) -> float:
    """Return a probability of error, above 0 and at most a half. Raises UsageError."""
    result = fraction(value)
    if not 0 < result <= 0.5:
        raise UsageError(f"--error must lie above 0 and be at most 50%, not {value}.")
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectOptions:
    """The options of a bisection."""

    error: float = option(
        "5%",
        "Probability of naming the wrong commit.",
        float | str,
        unit="fraction",
        metavar="SHARE",
        parse=parse_error,
    )
    pairs: int = option(
        200, "Maximum number of runs of the good and the bad commit until they differ.", int, metavar="N", least=6
    )
    schedule: str = schedule("turns", "")
    build_timeout_ns: int = option(
        "30min",
        "Skip a commit whose build takes longer.",
        float | str,
        name="build_timeout",
        unit="seconds",
        metavar="DURATION",
        parse=duration_ns,
    )
    skip: tuple[str, ...] = option(
        (), "Commit to skip.", Sequence[str], flag="--skip", metavar="REV", repeats=True, parse=tuple
    )
    again: bool = option(False, "Start over instead of resuming an interrupted search.", bool)
    repository: str | None = option(
        None, "Git repository.", str | None, metavar="DIR", shown="that of the working directory"
    )
