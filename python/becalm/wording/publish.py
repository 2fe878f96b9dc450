"""Sentences about a published site."""

from __future__ import annotations

from becalm.results.publish import Published
from becalm.wording.numbers import counted, memory


def studies(number: int) -> str:
    """Return a number of studies with the noun."""
    return f"{number:,} {'study' if number == 1 else 'studies'}"


def published(site: Published) -> str:
    """Return what a site shows, and the pages that were written or removed."""
    parts = [f"{site.index} shows {studies(len(site.studies))}"]
    if site.projects:
        parts.append(f"the history of {counted(len(site.projects), 'project')}")
    work = f"{counted(len(site.drawn), 'page')} written" if site.drawn else "no page changed"
    if site.removed:
        work += f", {len(site.removed):,} removed"
    lines = [f"{' and '.join(parts)} ({memory(site.size)}): {work}."]
    return "\n".join((*lines, *site.left_out))


def damaged(number: int, reason: str) -> str:
    """Return the sentence about a study whose results have no page."""
    return f"Study {number} is listed without its results: {reason}"


def foreign(directory: str) -> str:
    """Return the refusal to write into a directory that becalm did not make."""
    return (
        f"{directory} is not empty, and becalm did not write it. Nothing was changed. Give a new directory, or "
        "one that `becalm publish` has written."
    )


def serving(url: str) -> str:
    """Return the sentence on where a site is served."""
    return f"Serving {url} to this machine only. It follows the store; Ctrl-C ends it."
