"""Queries to a git repository: `git` is called with lists of arguments, never through a shell.

`Repository.of` opens a repository; `commit`, `branch`, `changed` and `between` describe commits; `order` sorts them;
`worktree` and `forget` create and remove private working trees. `becalm.verbs.record`, `history` and `bisect` use it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from becalm.errors import MachineError, UsageError

SECONDS = 120
"""The time that git may take for a query, s: it reads at most the whole history."""


class Commit(msgspec.Struct, frozen=True):
    """A commit. `when_ns`: its commit date; `ordinal`: the number of its ancestors and itself, None if shallow."""

    name: str
    when_ns: int
    subject: str
    ordinal: int | None = None


class CommitRange(msgspec.Struct, frozen=True):
    """The commits after `good` up to the last one, ancestors first, each with its parents (first parent first)."""

    good: str
    commits: tuple[str, ...]
    parents: tuple[tuple[str, ...], ...]

    @property
    def forked_earlier(self) -> frozenset[str]:
        """The commits that `good` is no ancestor of: on branches that forked before it and were merged after it."""
        onward = {self.good}
        for commit, parents in zip(self.commits, self.parents, strict=True):
            if onward.intersection(parents):
                onward.add(commit)
        return frozenset(self.commits) - onward


class Repository(msgspec.Struct, frozen=True):
    """A git repository by its top directory."""

    top: Path

    @classmethod
    def of(cls, directory: str | Path | None) -> Repository:
        """Return the repository around a directory. Raises UsageError where there is none, MachineError without git."""
        path = Path(directory) if directory is not None else Path.cwd()
        try:
            top = _git(path, "rev-parse", "--show-toplevel")
        except UsageError as error:
            raise UsageError(f"{path} is in no git repository that can be read: {_reason(error)}") from None
        return cls(Path(top.rstrip("\n")))

    def commit(self, revision: str = "HEAD") -> Commit:
        """Return the commit of a revision. Raises UsageError."""
        name = self.name_of(revision)
        seconds, _, subject = self._git("log", "-1", "--format=%ct%x00%s", name, "--").rstrip("\n").partition("\0")
        shallow = self._git("rev-parse", "--is-shallow-repository").strip() == "true"
        ordinal = None if shallow else int(self._git("rev-list", "--count", name, "--"))
        return Commit(name, int(seconds) * 10**9, subject, ordinal)

    def name_of(self, revision: str) -> str:
        """Return the full name of a commit. Raises UsageError."""
        try:
            return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except UsageError:
            raise UsageError(
                f"{revision!r} is not a commit of {self.top}. `git log` shows them; a shallow clone lacks old ones "
                "(git fetch --unshallow)."
            ) from None

    def branch(self) -> str:
        """Return the branch that is checked out; empty for none, as in most CI."""
        return self._git("branch", "--show-current").strip()

    def changed(self) -> bool:
        """Return whether tracked files differ from the commit that is checked out."""
        return bool(self._git("status", "--porcelain", "--untracked-files=no").strip())

    @property
    def has_submodules(self) -> bool:
        """Whether the commit that is checked out has submodules, which a further working tree lacks."""
        return (self.top / ".gitmodules").is_file()

    def between(self, good: str, bad: str) -> CommitRange:
        """Return all commits that lead to `bad` and not to `good`, merged branches included.

        Raises UsageError when `good` does not lead to `bad`.
        """
        first, last = self.name_of(good), self.name_of(bad)
        if first == last:
            raise UsageError(f"{good} and {bad} are the same commit: there is nothing between them.")
        if self.base(first, last) != first:
            raise UsageError(f"{good} does not lead to {bad}. Give an ancestor of {bad}, for example their merge base.")
        lines = self._git("rev-list", "--topo-order", "--reverse", "--parents", last, f"^{first}", "--").splitlines()
        names, parents = [], []
        for name, *others in map(str.split, lines):
            names.append(name)
            parents.append(tuple(others))
        return CommitRange(first, tuple(names), tuple(parents))

    def listed(self, commits: str, *, first_parents: bool = True) -> list[str]:
        """Return the commits of a range like v1.2..HEAD, ancestors first. Raises UsageError for an empty range."""
        if ".." not in commits or commits.startswith("-"):
            raise UsageError(f"{commits!r} is not a range of commits. Write it like v1.2..HEAD.")
        for end in commits.replace("...", "..").split(".."):
            self.name_of(end or "HEAD")
        way = ["--first-parent"] if first_parents else ["--topo-order"]
        names = self._git("rev-list", "--reverse", *way, "--end-of-options", commits, "--").split()
        if not names:
            raise UsageError(f"There is no commit in the range {commits}. `git log {commits}` shows what is.")
        return names

    def base(self, commit: str, other: str) -> str:
        """Return the best common ancestor of two commits; empty where they have none."""
        try:
            return self._git("merge-base", commit, other).strip()
        except UsageError:
            return ""

    def order(self, commits: Iterable[str]) -> dict[str, int]:
        """Return the positions of the commits that the repository has; ancestors come before descendants."""
        known = self._known(commits)
        if not known:
            return {}
        # Through standard input, as there may be more commits than a command line can hold.
        text = self._git("rev-list", "--topo-order", "--reverse", "--stdin", stdin_text="\n".join(known) + "\n")
        wanted = set(known)
        return {name: place for place, name in enumerate(line for line in text.split() if line in wanted)}

    def apart_from(self, branch: str, commits: Iterable[str]) -> set[str]:
        """Return the known commits that are no ancestors of a branch; none for an unknown branch."""
        known = self._known(commits)
        try:
            self.name_of(branch)
        except UsageError:
            return set()
        if not known:
            return set()
        text = self._git("rev-list", "--stdin", stdin_text="\n".join(known) + f"\n^{self.name_of(branch)}\n")
        return set(known) & set(text.split())

    def _known(self, commits: Iterable[str]) -> list[str]:
        names = [name for name in dict.fromkeys(commits) if name and set(name) <= set("0123456789abcdef")]
        text = self._git("cat-file", "--batch-check", stdin_text="\n".join(names) + "\n") if names else ""
        pairs = zip(names, text.splitlines(), strict=False)
        return [name for name, line in pairs if line.split()[1:2] == ["commit"] and line.startswith(name)]

    def subjects(self, commits: Sequence[str]) -> dict[str, str]:
        """Return the first lines of the messages of some commits."""
        text = self._git(
            "log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%s", stdin_text="\n".join(commits) + "\n"
        )
        return dict(line.split("\0", 1) for line in text.splitlines() if "\0" in line)

    def worktree(self, directory: Path, commit: str) -> None:
        """Check a commit out into a new directory. Raises MachineError."""
        try:
            self._git("worktree", "add", "--quiet", "--detach", "--force", str(directory), commit, seconds=1800)
        except UsageError as error:
            raise MachineError(f"git cannot check {commit[:12]} out into {directory}: {_reason(error)}") from None

    def forget(self, directory: Path) -> None:
        """Remove a working tree made by `worktree` with everything in it, if it exists."""
        try:
            self._git("worktree", "remove", "--force", "--force", str(directory), seconds=1800)
        except UsageError:
            shutil.rmtree(directory, ignore_errors=True)
            self.prune()

    def prune(self) -> None:
        """Have git forget working trees whose directories are gone."""
        with contextlib.suppress(UsageError):
            self._git("worktree", "prune")

    def _git(self, *words: str, stdin_text: str | None = None, seconds: float = SECONDS) -> str:
        return _git(self.top, *words, stdin_text=stdin_text, seconds=seconds)


def _git(directory: Path, *words: str, stdin_text: str | None = None, seconds: float = SECONDS) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # A git hook sets these variables, which would select another repository.
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *words],
            input=stdin_text,
            stdin=subprocess.DEVNULL if stdin_text is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=environment,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise MachineError(
            "git is not installed here, so commits cannot be found. Install it, or name the place in history yourself: "
            "--commit, --branch and --project."
        ) from None
    except subprocess.TimeoutExpired:
        raise MachineError(f"git {words[0]} in {directory} did not end within {seconds:g} s.") from None
    if done.returncode:
        raise UsageError(f"git {words[0]}: {done.stderr.strip() or 'it failed'}")
    return done.stdout


def _reason(error: Exception) -> str:
    return str(error).partition(": ")[2].splitlines()[0].removeprefix("fatal: ")
