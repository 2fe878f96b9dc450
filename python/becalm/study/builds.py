"""Commits built in separate working trees, which are created on demand, limited in time and removed at the end.

`Builds` keeps the trees of the good and the bad commit and of the commits measured last; older ones are removed, since
a tree may be large. All are in one private directory, which a search that continues after a kill finds and removes.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from becalm.errors import MachineError
from becalm.study.build_command import run_build
from becalm.study.repository import Repository

KEPT = 4
"""The number of working trees that are kept besides that of the good commit."""


@dataclass(slots=True)
class Builds:
    """The working trees of commits, as a context manager. With an empty `command` nothing is built."""

    repository: Repository
    command: Sequence[str]
    timeout_s: float
    keep: str
    root: Path
    trees: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def private(cls, repository: Repository, command: Sequence[str], timeout_s: float, keep: str) -> Builds:
        """Return builds in a new directory that only this user may enter."""
        return cls(repository, command, timeout_s, keep, Path(tempfile.mkdtemp(prefix="becalm-bisect-")))

    def __enter__(self) -> Builds:
        return self

    def __exit__(self, *exc: object) -> None:
        discard(self.repository, self.root)
        self.trees.clear()

    def get(self, commit: str) -> tuple[Path, str]:
        """Return the working tree of a commit, and the reason why its build failed, empty when it succeeded.

        Raises MachineError.
        """
        if commit in self.trees:
            # The tree that was used last is removed last.
            self.trees[commit] = self.trees.pop(commit)
            return self.trees[commit], ""
        self._make_room()
        place = self.root / commit[:16]
        self.repository.worktree(place, commit)
        self.trees[commit] = place
        reason = self._build(place) if self.command else ""
        if reason:
            self._forget(commit)
        return place, reason

    def _build(self, place: Path) -> str:
        """Build, and return why that failed, or an empty string."""
        try:
            return run_build(self.command, self.root / f"{place.name}.log", self.timeout_s, place)
        except OSError as error:
            raise MachineError(
                f"The build {self.command[0]!r} cannot be started: {error.strerror}. It is run in the top "
                "directory of each commit, without a shell: sh -c '…' starts one."
            ) from None

    def _make_room(self) -> None:
        old = [commit for commit in self.trees if commit != self.keep]
        for commit in old[: max(0, len(old) - KEPT + 1)]:
            self._forget(commit)

    def _forget(self, commit: str) -> None:
        self.repository.forget(self.trees.pop(commit))


def discard(repository: Repository, root: Path) -> None:
    """Remove a directory of working trees, and git's records of them."""
    for place in root.iterdir() if root.is_dir() else ():
        if place.is_dir():
            with contextlib.suppress(MachineError):
                repository.forget(place)
    shutil.rmtree(root, ignore_errors=True)
    # A search that was killed while it removed its trees has left records, too.
    repository.prune()
