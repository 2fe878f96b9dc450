"""Sentences about sweet spots: their number, their types and where they were found."""

from __future__ import annotations

from becalm.migration.sweetspots import Spotted
from becalm.wording.numbers import counted, duration

KINDS = ("a program begins", "its working set changes", "it is evicted while it waits")
"""The meaning of each type of sweet spot."""

COUNTED = ("begins", "set changes", "is evicted")
"""The types as titles of the columns that count them."""


LEAST_WINDOWS = 2
"""The number of windows needed to see a change."""


def sentence(spotted: Spotted) -> str:
    """Return the sentence about the number of sweet spots and of unknown windows."""
    windows, unknown = spotted.detection["counted"]
    kinds = [sum(spot["kind"] == kind for spot in spotted.spots) for kind in range(3)]
    many = counted(sum(kinds), "sweet spot")
    types = ", ".join(f"{count:,} where {words}" for count, words in zip(kinds, KINDS, strict=True) if count)
    if windows + unknown < LEAST_WINDOWS:
        seen = f"{counted(windows + unknown, 'window')} of {counted(len(spotted.programs), 'program')}"
        few = "too little to tell a sweet spot, which is a change from one window to the next"
        return f"{seen}: {few}. At least {LEAST_WINDOWS} are needed."
    result = f"{many} in {counted(windows, 'window')} of {counted(len(spotted.programs), 'program')}"
    result += f": {types}." if types else ": by these rules no moment was better for a move than another."
    if unknown:
        result += f" {counted(unknown, 'window')} {'is' if unknown == 1 else 'are'} unknown, not zero."
    return result


def drawn(spotted: Spotted) -> str:
    """Return the title of the pictures."""
    return "Ratio of misses" if spotted.miss_ratio else "Phases of the program (no ratio of misses)"


def legend(spotted: Spotted) -> str:
    """Return the legend of the lines drawn in the terminal."""
    lasted = spotted.detection["until_ns"] - spotted.detection["from_ns"]
    time = duration(lasted) if spotted.unit == "ns" else f"{lasted:,} {spotted.unit}"
    quantity = "Share of references that miss" if spotted.miss_ratio else "Share of what was counted that is new"
    return f"{quantity}, over {time}; one line per task, from 0 to the number at its end:"


def counts(spotted: Spotted) -> tuple[str, str]:
    """Return the headings of the columns of both counters."""
    return ("references", "missed") if spotted.miss_ratio else ("counted", "new")


def origin(spotted: Spotted) -> str:
    """Return the sentences on the events that were counted and the rules."""
    rules = spotted.detection["question"]["rules"]
    window = (
        f"{rules['window_ns'] / 1e6:g} ms"
        if spotted.source in ("simulation", "records", "synthetic", "perf", "live")
        else "the source's"
    )
    proxy = ""
    if not spotted.miss_ratio:
        visible = " or ".join(KINDS[kind] for kind in spotted.kinds)
        proxy = f" Such counts show only sweet spots where {visible}, and nothing about caches."
    return f"Counted: {spotted.events}.{proxy} Rules: {spotted.rules}, windows: {window}; --json has every threshold."


def moved(spotted: Spotted) -> list[str]:
    """Return the sentences about the requested move: when and why, what was counted, and its cost."""
    move = spotted.move
    if move is None:
        return []
    if move["done"] is None:
        return [f"Not moved: {move['why_not']}"]
    lines = [move["done"]["sentence"], *move["done"]["remarks"]]
    if not move["migrations"]:
        lines.append(
            "The records show no migration of it, so its cost is not known. Either it ran there already, or it did not "
            "run again, or records were lost, or pages were counted (ws_turnover), which do not tell the CPU."
        )
    return lines
