"""The noun Revision: which state of a project's code was measured, as far as a file of results tells."""

from __future__ import annotations

from typing import Any

from becalm.values import dataclass

LONGEST = 200
"""Characters of a name in a file."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, its date in ns since 1970, its branch; empty and None where they are not known.

    `changed`: the working tree had changes that are in no commit.
    """

    commit: str = ""
    commit_ns: int | None = None
    branch: str = ""
    changed: bool = False


def revision(commit: Any, commit_ns: int | None = None, branch: Any = None, changed: Any = None) -> Revision:
    """Return what a file tells; what is no text of some length counts as not told."""
    name = _text(commit)
    return Revision(name, commit_ns or None, _text(branch), changed is True) if name else Revision(branch=_text(branch))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= LONGEST else ""


UNKNOWN = Revision()
"""A state of the code of which a file tells nothing."""
