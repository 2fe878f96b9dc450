"""Small git repositories for tests, made by git itself."""

import os
import subprocess

from tests.needs import need


def repository(path, commits, contents=lambda number: f"{number}\n"):
    """Make a repository at `path` with this number of commits of a file `f`; return the names of the commits, the first
    one first."""
    need("git")
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "-b", "main")
    names = []
    for number in range(commits):
        (path / "f").write_text(contents(number))
        names.append(commit(path, f"change {number}", number))
    return names


def commit(path, subject, number):
    """Commit all that is there; its name."""
    date = f"{1_700_000_000 + number} +0000"
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", subject, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    return git(path, "rev-parse", "HEAD").strip()


def git(path, *words, **environment):
    """Return the output of git there, with nothing of the person's own configuration."""
    plain = {
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "T",
        "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.org",
    }  # fmt: skip
    done = subprocess.run(
        ["git", *words],
        cwd=path,
        env={**os.environ, **plain, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
