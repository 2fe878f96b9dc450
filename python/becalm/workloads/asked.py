"""What is asked of every source besides its text: options that hold for all programs, and where files are found."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.workload import Workload, split

_OPTIONS = {each.name for each in dataclasses.fields(Workload)} - {"argv", "kernel", "iterations", "parameters"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Options for the programs of a source.

    `options` are fields of a Workload. `base` is the directory from which files in a text are found [default: the
    working directory]. `python` and `user` as in `becalm.workloads.open`.
    """

    shell: bool = False
    python: str | None = None
    user: str | None = None
    base: Path = field(default_factory=Path.cwd)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, shell: bool, python: str | None, user: str | None, options: Mapping[str, Any]) -> Asked:
        """Check the names of the options. Raises UsageError with the nearest for one that does not exist."""
        for name in options:
            if name not in _OPTIONS:
                near = difflib.get_close_matches(name, _OPTIONS, n=1)
                raise UsageError(f"A program has no option {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return cls(shell=shell, python=python, user=user, options=dict(options))

    @property
    def directory(self) -> Path:
        """The directory in which the programs run, absolute."""
        return self.base / (self.options.get("directory") or "")

    def file(self, name: str) -> Path:
        """The absolute path of a file that a text names; `~` is the home directory."""
        return self.base / os.path.expanduser(name)

    def workload(self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None, **own: Any) -> Workload:
        """A workload of an argument list and the source's own fields, over which the options asked for win.

        `environment` is what the source sets; single variables of the options replace or join it.
        """
        options = {**own, **self.options}
        options["environment"] = {**(environment or {}), **dict(self.options.get("environment") or {})}
        for hook in ("prepare", "cleanup"):
            if isinstance(options.get(hook), str):
                options[hook] = split(options[hook], shell=self.shell)
        return Workload.of(list(argv), **options)
