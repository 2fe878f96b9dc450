"""The value Revision: the state of a project's code that was measured, as far as a file of results states it."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST = 200
"""The most characters of a name in a file."""


class Revision(msgspec.Struct, frozen=True):
    """A commit, its date in ns since 1970, and its branch; empty or None if unknown.

    `changed`: whether the working tree had uncommitted changes.
    """

    commit: str = ""
    commit_ns: int | None = None
    branch: str = ""
    changed: bool = False


def revision(commit: Any, commit_ns: int | None = None, branch: Any = None, changed: Any = None) -> Revision:
    """Return the revision that a file states; anything but a text of at most LONGEST characters counts as unknown."""
    name = _text(commit)
    return Revision(name, commit_ns or None, _text(branch), changed is True) if name else Revision(branch=_text(branch))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= LONGEST else ""


UNKNOWN = Revision()
"""A state of the code of which a file tells nothing."""
