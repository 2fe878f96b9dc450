"""The source `command`: a command line, split as a shell would, without a shell; or an argument list."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace

from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions


def open_command(text: str | Iterable[str], program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return one workload. Raises UsageError for an empty command line or an unbalanced quote."""
    return (
        replace(Workload.of(text, shell_program=shlex.join(program_options.shell) or None), **program_options.options),
    )
