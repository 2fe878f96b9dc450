"""The request to a source besides its text: options that hold for all programs, and the place of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from becalm.nouns.metric import Response
from becalm.nouns.option import refuse_unknown
from becalm.nouns.workload import CommandLine, ProgramKeywords, Workload, program_fields, shell_of
from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """Options for the programs of a source.

    `options` are fields of a Workload. `shell` runs the commands, empty for none. `base` is the directory from
    which files in a text are found [default: the working directory]. `python` and `user` as in `becalm.workloads.open`.
    `whole`: the time of the process counts, also of a program that times itself.
    """

    shell: tuple[str, ...] = ()
    python: str | None = None
    user: str | None = None
    base: Path = field(default_factory=Path.cwd)
    options: Mapping[str, Any] = field(default_factory=dict)
    whole: bool = False

    @classmethod
    def of(cls, user: str | None, keywords: ProgramKeywords) -> ProgramOptions:
        """Return the request for the options of a program as people give them. Raises UsageError."""
        refuse_unknown(keywords, CommandLine, Workload)
        return cls(shell=shell_of(keywords), python=keywords.get("python"), user=user, options=program_fields(keywords))

    def measuring(self, response: Response) -> ProgramOptions:
        """Return the same, with the response of all programs that have none of their own."""
        return replace(self, options={**self.options, "metrics": response.metrics}) if response.metrics else self

    @property
    def directory(self) -> Path:
        """The directory in which the programs run, absolute."""
        return self.base / (self.options.get("directory") or "")

    def file(self, name: str) -> Path:
        """Return the absolute path of a file that a text names; `~` is the home directory."""
        return self.base / os.path.expanduser(name)

    def workload(self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None, **own: Any) -> Workload:
        """Return a workload of an argument list and the source's own fields, over which the requested options win.

        `environment` is the source's; single variables of the options replace or join it.
        """
        options = {**own, **self.options}
        joined = {**(environment or {}), **dict(self.options.get("environment") or {})}
        options["environment"] = tuple(sorted(joined.items()))
        return replace(Workload.of(list(argv)), **options)
