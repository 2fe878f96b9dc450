"""Builds of two programs in several layouts, one for each seed; builds equal to an earlier one are left out.

Public: SideBuilds, build_side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.nouns.workload import Workload
from becalm.study.build_command import run_build
from becalm.wording import layouts as sentences
from becalm.workloads.parameters import filled

SEED, BUILD = "{seed}", "{build}"
"""The placeholders for the number of a layout and for the directory of its build."""


class SideBuilds(msgspec.Struct, frozen=True):
    """The layouts of one program: the workload of each seed, and the seeds whose program equals an earlier one."""

    workloads: Mapping[int, Workload]
    equal: tuple[int, ...]


def check_placeholders(name: str, command: str, build: str) -> None:
    """Check that a program and its build depend on the layout. Raises UsageError."""
    if SEED not in build:
        raise UsageError(sentences.no_seed(name, build))
    if SEED not in command and BUILD not in command:
        raise UsageError(sentences.no_place(name, command))
    if BUILD in command and BUILD not in build:
        raise UsageError(sentences.no_directory(name, build))


def values_of(seed: int, directory: Path) -> Workload:
    """Return a workload that has only the values of a layout's placeholders."""
    return Workload(parameters=(("build", str(directory)), ("seed", str(seed))))


def build_side(
    name: str,
    command: Sequence[str],
    seeds: Sequence[int],
    root: Path,
    *,
    timeout_s: float,
    program: Callable[[Workload], Workload],
) -> SideBuilds:
    """Build a program with each seed, each in a new directory below `root`, and return the builds.

    `command`: the words of the build; `program`: the workload of a layout, from the values of its placeholders.
    Raises WorkloadError where a build fails or leaves no program, MachineError where it cannot be started, and
    UsageError where all programs are equal.
    """
    workloads: dict[int, Workload] = {}
    contents: dict[tuple[str, ...], int] = {}
    equal = []
    for seed in seeds:
        directory = root / f"{seed}"
        directory.mkdir(parents=True)
        values = values_of(seed, directory)
        argv = [filled(word, values) for word in command]
        try:
            reason = run_build(argv, root / f"{seed}.log", timeout_s)
        except OSError as error:
            raise MachineError(sentences.not_started(name, argv, error.strerror or str(error))) from None
        if reason:
            raise WorkloadError(sentences.failed(name, seed, argv, reason))
        workload = program(values)
        content = _content(workload)
        if not content:
            raise WorkloadError(sentences.nothing_built(name, seed, workload.argv))
        if content in contents:
            equal.append(seed)
        else:
            contents[content] = seed
            workloads[seed] = workload
    if len(workloads) < 2:
        raise UsageError(sentences.all_equal(name, len(seeds)))
    return SideBuilds(workloads, tuple(equal))


def _content(workload: Workload) -> tuple[str, ...]:
    """Return digests of the files that a program names by the values of its layout; empty where there are none."""
    own = dict(workload.parameters)
    base = Path(workload.directory or ".")
    # A shell's command line is one word of several.
    words = [part.strip("'\"") for word in workload.argv for part in dict.fromkeys((word, *word.split()))]
    paths = [base / word for word in words if own["build"] in word or own["seed"] in word]
    return tuple(_digest(path) for path in paths if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
