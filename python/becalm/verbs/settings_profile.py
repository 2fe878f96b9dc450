"""Profiles: combining them, and saving the result of a search as one."""

from __future__ import annotations

from pathlib import Path

from becalm.errors import UsageError
from becalm.files.written import target
from becalm.line import Line
from becalm.nouns.settings import Settings
from becalm.profiles import Profile, check_name, own_path, write
from becalm.results.tune import TuneVerdict
from becalm.study.session_options import Values
from becalm.study.settings_profile import find_profile, merge_profiles
from becalm.wording.printable import one_line


def profile(*references: str, settings: Values | None = None, store: str | None = None) -> Profile:
    """Return one or several profiles as one: from names, files, or numbers of studies; `settings` override them.

    Raises UsageError for an unknown name, or two profiles that contradict each other.
    """
    return merge_profiles(references, Settings.of(settings), store)


def check_profile(to: str) -> None:
    """Check that a profile can be saved under a name, or as a file. Raises UsageError."""
    _place(to)


def save_profile(verdict: TuneVerdict, to: str, *, store: str | None = None) -> Path | None:
    """Save what a search recommends as a profile, with the machine on which it was found.

    Arguments:
        verdict: the result of `becalm.tune`.
        to: a name, for a profile of the user; or a file, with a "/" or ".toml" in it.
        store: where its study is stored.

    Returns the file; None when nothing is recommended. Raises UsageError, MachineError.
    """
    name, path = _place(to)
    if not verdict.settings:
        return None
    if verdict.study is None:
        return write(Profile(name, Settings.of(verdict.settings)), path)
    saved_profile = find_profile(str(verdict.study), store=store)
    return write(Profile(name, saved_profile.settings, saved_profile.description, saved_profile.machine), path)


def _place(to: str) -> tuple[Line, Path | None]:
    """Return the name and the file under which a profile is saved; no file: among the user's profiles."""
    path = Path(to) if "/" in to or to.endswith(".toml") else None
    if path is None:
        check_name(to)
        target(own_path(to))
        return Line(to), None
    if not path.parent.is_dir():
        raise UsageError(f"--save: there is no directory {path.parent}. Nothing was saved.")
    return one_line(path.stem), target(path)
