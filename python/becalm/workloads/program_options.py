"""The options that a source applies to its programs, and the directory of its files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from becalm.nouns.metric import Response
from becalm.nouns.option import refuse_unknown
from becalm.nouns.workload import CommandLine, Workload, program_fields, shell_of

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords


class ProgramOptions(msgspec.Struct, frozen=True):
    """Options for the programs of a source.

    - `options`: fields of a Workload
    - `shell`: the command of the shell that runs commands, empty for none
    - `base`: the directory to which files in a text are relative
    - `python`, `user`: as for `becalm.workloads.open`
    - `whole`: whether the time of the whole process counts, even for a program that times itself
    """

    shell: tuple[str, ...] = ()
    python: str | None = None
    user: str | None = None
    base: Path = msgspec.field(default_factory=Path.cwd)
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)
    whole: bool = False

    @classmethod
    def of(cls, user: str | None, keywords: ProgramKeywords) -> ProgramOptions:
        """Return the value for keyword arguments. Raises UsageError."""
        refuse_unknown(keywords, CommandLine, Workload)
        return cls(shell=shell_of(keywords), python=keywords.get("python"), user=user, options=program_fields(keywords))

    def measuring(self, response: Response) -> ProgramOptions:
        """Return these options with the metrics of a response, if it has any."""
        return replace(self, options={**self.options, "metrics": response.metrics}) if response.metrics else self

    @property
    def directory(self) -> Path:
        """The directory in which the programs run, absolute."""
        return self.base / (self.options.get("directory") or "")

    def file(self, name: str) -> Path:
        """Return the absolute path of a file that a text names; `~` is the home directory."""
        return self.base / os.path.expanduser(name)

    def workload(self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None, **own: Any) -> Workload:
        """Return a workload of an argument list and the source's fields, which the options override.

        `environment`: that of the source; variables of the options are added or replace its variables.
        """
        options = {**own, **self.options}
        joined = {**(environment or {}), **dict(self.options.get("environment") or {})}
        options["environment"] = tuple(sorted(joined.items()))
        return dataclasses.replace(Workload.of(list(argv)), **options)
