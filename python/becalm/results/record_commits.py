"""The result RecordedCommits: the session of each commit of a recorded range, or the reason why it has none."""

from __future__ import annotations

import msgspec

from becalm.nouns.result import Result


class RecordedCommit(msgspec.Struct, frozen=True):
    """A commit of a range. `study`: its session, None without one; `known`: whether it already had one. `reason`: why
    it has none, or which benchmarks failed; empty when all succeeded."""

    commit: str
    subject: str
    study: int | None
    known: bool
    reason: str


class RecordedCommits(Result, frozen=True):
    """The recorded commits of a range, in their order. `range`: the range as the user wrote it."""

    KIND = "recorded commits"

    project: str
    range: str
    commits: tuple[RecordedCommit, ...]
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code: 4 when a commit has no session or a benchmark failed in one, else 0."""
        return 4 if any(commit.reason for commit in self.commits) else 0
