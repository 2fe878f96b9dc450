"""Profiles: settings with a name, in a TOML file that people keep, share and read.

Shipped ones are in the package's `profiles` directory, one's own in `~/.config/becalm/profiles`. `load` finds one by
name or path, `names` lists them, `write` makes a file, `text` returns a profile as TOML.

    name = "quiet"
    description = "what my desktop needs"
    [settings]
    nice = -20
    aslr = "off"
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from becalm.errors import MachineError, UsageError
from becalm.files.tables import check_keys, parse_toml, toml_key, toml_value
from becalm.files.text import read_text
from becalm.files.written import write as write_file
from becalm.line import ControlCharacterError, Line
from becalm.nouns.settings import Settings
from becalm.paths import config_dir

SHIPPED = ("llvm-tips", "pyperf")
"""Profiles that come with becalm, to compare with (docs/tutorials/tune.md)."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class NotLinesError(UsageError):
    """An error for a text of a profile that is not one line."""

    def __init__(self, key: str, why: ControlCharacterError) -> None:
        super().__init__(f"The profile has a string that is not one line: {key} {why}.")
        self._what = f"{key} {why}"

    def of(self, where: str) -> str:
        """Return the sentence for the profile of a file."""
        return f"The profile {where}: {self._what}. Write it on one line."


class Profile(msgspec.Struct, frozen=True):
    """Named settings. `machine`: the hostname, cpu and kernel where they were found; empty if unknown. Each text is one
    line (`becalm.line.Line`), since becalm writes it into files of other programs. Raises UsageError.
    """

    name: str
    settings: Settings
    description: str = ""
    machine: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the texts."""
        values = self.settings.values
        for key in (*(name for name, _ in values), *self.machine):
            _check_line(key, "a key")
        for key, value in (("name", self.name), ("description", self.description), *values, *self.machine.items()):
            if isinstance(value, str):
                _check_line(value, key)


def _check_line(text: str, key: str) -> None:
    try:
        Line(text)
    except ControlCharacterError as error:
        raise NotLinesError(key, error) from None


def load(reference: str) -> Profile:
    """Return a profile by name, or by the path of its file. Raises UsageError when there is none or it is malformed."""
    if "/" in reference or reference.endswith(".toml"):
        path = Path(reference)
        if not path.is_file():
            raise UsageError(f"There is no profile file {reference}.")
        return parse(read_text(path, f"The profile {path}"), reference, path.stem)
    for name, place in _files_by_name().items():
        if name == reference:
            return parse(read_text(place, f"The profile {place}"), str(place), name)
    near = difflib.get_close_matches(reference, _files_by_name(), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(_files_by_name())}."
    raise UsageError(f"There is no profile {reference!r}.{hint}")


def known_profiles() -> dict[str, bool]:
    """Return the names of all profiles, in order, each with whether it comes with becalm. Raises MachineError."""
    return {name: name in SHIPPED for name in names()}


def names() -> list[str]:
    """Return the names of all profiles: the shipped ones first, then one's own."""
    return list(_files_by_name())


def parse(content: str, where: str, default_name: str) -> Profile:
    """Return the profile in a text. Raises UsageError, which names the file and the fault."""
    value = parse_toml(content, where, f"The profile {where}")
    check_keys(value, ("name", "description", "settings", "machine"), f"The profile {where}")
    settings = value.get("settings")
    if not isinstance(settings, dict):
        raise UsageError(f"The profile {where} has no [settings] table.")
    for name, setting in settings.items():
        if not isinstance(setting, (str, int, bool)):
            raise UsageError(f"The profile {where}: {name} must be a string, a whole number, true or false.")
    machine = value.get("machine", {})
    if not isinstance(machine, dict):
        raise UsageError(f"The profile {where}: machine must be a table.")
    # People break a description into lines.
    description = " ".join(_text(value.get("description", ""), "description", where).splitlines())
    name = _text(value.get("name", default_name), "name", where)
    known = {str(key): str(value) for key, value in machine.items()}
    try:
        return Profile(name, Settings.of(settings), description, known)
    except NotLinesError as error:
        raise UsageError(error.of(where)) from None


def _text(value: object, key: str, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"The profile {where}: {key} must be a string.")
    return value


def text(profile: Profile) -> str:
    """Return a profile as TOML."""
    lines = [f"name = {toml_value(profile.name)}"]
    if profile.description:
        lines.append(f"description = {toml_value(profile.description)}")
    for title, table in (("settings", profile.settings.to_json()), ("machine", dict(profile.machine))):
        if table or title == "settings":
            lines += ["", f"[{title}]"]
            lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def check_name(name: str) -> None:
    """Raise UsageError for a text that cannot name a profile of one's own."""
    # Numbers and `last` name studies (verbs/settings_profile.py), *.toml a file.
    taken = (*SHIPPED, "last")
    if not NAME.fullmatch(name) or name in taken or re.search(r"^\d+$|\.toml$", name):
        raise UsageError(
            f"{name!r} cannot name a profile: use letters, digits, dots, dashes and underscores, not only digits, and "
            f"none of {', '.join(taken)}."
        )


def write(profile: Profile, path: Path | None = None) -> Path:
    """Save a profile, by default among one's own. Raises UsageError for a bad file name, MachineError."""
    if path is None:
        check_name(profile.name)
        path = own_path(profile.name)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, text(profile))
    except OSError as error:
        raise MachineError(f"The profile {path} cannot be written: {error.strerror}.") from error
    return path


def own_path(name: str) -> Path:
    """Return the path of a user's own profile. Raises MachineError without a home directory."""
    return config_dir() / "profiles" / f"{name}.toml"


def _files_by_name() -> dict[str, Any]:
    """Return the files by name; a user's own profile cannot replace a shipped one."""
    result: dict[str, Any] = {}
    shipped = Path(__file__).parent
    for name in SHIPPED:
        result[name] = shipped / f"{name}.toml"
    own = config_dir() / "profiles"
    for path in sorted(own.glob("*.toml")) if own.is_dir() else ():
        if path.is_file():
            result.setdefault(path.stem, path)
    return result
