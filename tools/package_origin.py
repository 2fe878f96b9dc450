"""The origin of a package: commit and repository, and the description that follows from the repository.

setup.py asks here. A checkout answers by git. An sdist has no git: `tools/packages.py` writes `origin.json` into it.

Public: Origin, origin, repository, description.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "origin.json"
VARIABLE = "BECALM_REPOSITORY"
"""The variable with the repository's address, for a checkout whose remote is not the public one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit and the address of the repository a package is built from; empty where unknown."""

    commit: str = ""
    repository: str = ""

    def write(self, tree: Path) -> None:
        """Write the origin into a source tree."""
        (tree / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def origin(tree: Path) -> Origin:
    """Return the origin of a source tree: by its file, which an sdist has, or by git."""
    if (tree / FILE).is_file():
        return Origin(**json.loads((tree / FILE).read_text(encoding="utf-8")))
    if not (tree / ".git").exists():
        return Origin(repository=repository(os.environ.get(VARIABLE, "")))
    commit = _git(tree, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes")
    remote = os.environ.get(VARIABLE) or _git(tree, "remote", "get-url", "origin")
    return Origin(commit, repository(remote))


def _git(tree: Path, *words: str) -> str:
    """Return the output of git; empty where git is missing or fails."""
    try:
        done = subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def repository(remote: str) -> str:
    """Return the address for browsers of a remote on a public host; empty for a path, or for a password in it."""
    match = re.fullmatch(
        r"(?:https://|ssh://git@|git@)([\w-]+(?:\.[\w-]+)+)[:/]([\w./-]+?)(?:\.git)?/?", remote.strip()
    )
    return f"https://{match[1]}/{match[2]}" if match else ""


def description(text: str, repository: str, revision: str) -> str:
    """Return the README for readers outside of the repository.

    Links to its files lead to the repository at a revision; where the repository is unknown, their text remains.
    """

    def image(match: re.Match[str]) -> str:
        return f"![{match[1]}]({repository}/raw/{revision}/{match[2]})" if repository else ""

    def link(match: re.Match[str]) -> str:
        return f"[{match[1]}]({repository}/blob/{revision}/{match[2]})" if repository else match[1]

    target = r"\((?!\w+:|#|//)([^()\s]+)\)"
    text = re.sub(rf"!\[([^\]]*)\]{target}", image, text)
    text = re.sub(rf"(?<!!)\[([^\]]*)\]{target}", link, text)
    return re.sub(r"\n{3,}", "\n\n", text)
