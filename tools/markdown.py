"""Markdown in small pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(text: object) -> str:
    """Format a word as code; an empty one stays empty."""
    return "" if text in (None, "") else f"`{text}`"


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a table."""
    lines = [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |")
    return "\n".join(lines) + "\n"
