"""What it is to add one more of a family, and the two ways to write it into a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent


@dataclass(frozen=True)
class Addition:
    """One more of a family: how it is written into a tree, and how it is seen that it is there and works."""

    family: str
    most: int
    """How many files it may take."""
    make: Callable[[Path], None]
    shown: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Command lines of becalm, each with something that it must then say."""
    tests: tuple[str, ...] = ()
    """The family's own tests, of Python,"""
    said_by_tests: str = ""
    """something that their list of tests must then hold,"""
    cargo: str = ""
    """and of the engine."""


def before(tree: Path, name: str, anchor: str, text: str) -> None:
    """Insert text before the first place of an anchor. Raises ValueError when the file no longer has it."""
    path = tree / name
    whole = path.read_text()
    if anchor not in whole:
        raise ValueError(f"{name} no longer has {anchor!r}: tools/additions_*.py must follow it")
    path.write_text(whole.replace(anchor, text + anchor, 1))


def written(tree: Path, name: str, text: str) -> None:
    """A new file."""
    path = tree / name
    assert not path.exists(), name
    path.write_text(dedent(text).lstrip("\n"))
