"""The result ProductionSettings: settings as files that work without becalm, and those that no file can hold.

`becalm.study.export_settings` resolves settings to SettingPlaces on a machine, `becalm.report.export_settings` writes
files of them. Everything that a file sets it can also undo, by the value before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from becalm.line import Line
from becalm.nouns.domain import Value
from becalm.nouns.excluded import Excluded
from becalm.nouns.result import Result


def _empty() -> Line:
    return Line("")


class Where(StrEnum):
    """The kind of file or property in which a setting is written."""

    SYSCTL = "sysctl"
    FILE = "file"
    DEBUG = "debug"
    FEATURE = "feature"
    LATENCY = "latency"
    PROGRAM = "program"
    BOOT = "boot"


class SettingPlace(msgspec.Struct, frozen=True):
    """A place in which a setting is written.

    - `path`: a file of the kernel, a property of a unit, or parameters of the kernel
    - `before`: the value there, None where there is none
    - `why`: the purpose of the knob; `costs`: its costs
    """

    knob: Line
    where: Where
    path: Line
    after: Line
    before: Line | None = None
    why: Line = msgspec.field(default_factory=_empty)
    costs: Line = msgspec.field(default_factory=_empty)


class ProductionPlan(msgspec.Struct, frozen=True):
    """The places in which settings are written on one machine, in the order of applying them. `left`: settings that no
    file can hold, with what to do instead."""

    host: Line = msgspec.field(default_factory=_empty)
    kernel: Line = msgspec.field(default_factory=_empty)
    places: tuple[SettingPlace, ...] = ()
    left: tuple[Excluded, ...] = ()


class Origin(msgspec.Struct, frozen=True):
    """The origin of settings.

    - `name`: the name of files; `title`: the origin in words
    - `measured`: the measurement, in sentences
    - `host`, `kernel`: where the settings were resolved; `found_on`: where they were measured
    - `date`: YYYY-MM-DD
    """

    name: Line
    title: Line
    measured: tuple[Line, ...] = ()
    host: Line = msgspec.field(default_factory=_empty)
    kernel: Line = msgspec.field(default_factory=_empty)
    found_on: Line = msgspec.field(default_factory=_empty)
    date: Line = msgspec.field(default_factory=_empty)


class ProductionFile(msgspec.Struct, frozen=True):
    """A file. `path`: where it belongs; `install`, `undo`: commands for root; `knobs`: the settings in it."""

    form: str
    path: Line
    content: str
    install: tuple[Line, ...]
    undo: tuple[Line, ...]
    knobs: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the file when it is first written somewhere else; that of a drop-in includes its unit."""
        *_, folder, name = self.path.split("/")
        return f"{folder}-{name}" if folder.endswith(".d") and "service" in folder else name


class ProductionSettings(Result, frozen=True):
    """Settings for production. `left`: settings that are in none of the files, each with what to do instead; `remarks`:
    what to know before using them."""

    KIND = "settings for production"

    origin: Origin
    settings: Mapping[str, Value]
    files: tuple[ProductionFile, ...] = ()
    left: tuple[Excluded, ...] = ()
    remarks: tuple[str, ...] = ()
    sentence: str = ""
    helped: tuple[str, ...] = ()
    """Settings that the study showed to help, the most helpful first; empty where nothing was measured."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Settings that helped and are in none of the files."""
        left = {exclusion.knob for exclusion in self.left}
        return tuple(knob for knob in self.helped if knob in left)

    @property
    def exit_code(self) -> int:
        """The exit code: 0, or 1 where no file holds any of the settings."""
        return 0 if self.files else 1
