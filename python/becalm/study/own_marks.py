"""A program that is recorded, with the marks that a built-in one sets: `kernel:matrixmult` before each product.

Kernels write them by CLOCK_MONOTONIC (crates/becalm-core/src/kernel/marks.rs), recordings have CLOCK_MONOTONIC_RAW.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from becalm import hosts
from becalm.hosts import Host
from becalm.nouns import tables
from becalm.nouns.workload import AGENT, ProgramKeywords, Workload
from becalm.workloads import single

FLAG = "--marks"


@dataclass(frozen=True, slots=True)
class Marked:
    """`folder`: where marks are written; None of a program that sets none, or that runs elsewhere."""

    workload: Workload
    folder: tempfile.TemporaryDirectory[str] | None = None

    def marks(self, programs: Sequence[Mapping[str, Any]], process: int | None) -> Iterator[dict[str, Any]]:
        """Yield the marks that it set, as the engine tells marks of a log; removes their file."""
        if self.folder is None:
            return
        with self.folder as folder, suppress(OSError):
            lines = (Path(folder) / "marks").read_text(encoding="ascii").splitlines()
            # Both clocks run at one rate but for what NTP steers, half a thousandth at most.
            ahead = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            number = next((at for at, each in enumerate(programs) if each["task"] == process), None)
            for line in lines if number is not None else ():
                yield {"program": number, "time_ns": int(line.removeprefix("mark ")) + ahead, "number": 1}


def program(command: str | Sequence[str], host: str | Host, **keywords: Unpack[ProgramKeywords]) -> Marked:
    """Return what is recorded. Raises UsageError for a source that names several programs or none."""
    words = [command] if isinstance(command, str) else list(command)
    workload = single(words[0] if len(words) == 1 else words, **keywords)
    argv = list(workload.argv)
    local = isinstance(host, str) and hosts.is_local(host)
    if argv[:2] != [AGENT, "kernel"] or FLAG in argv or not local or not _sets_marks(argv[2]):
        return Marked(workload)
    folder = tempfile.TemporaryDirectory(prefix="becalm-marks-")
    # The program is the invoking user's, where becalm is root.
    Path(folder.name).chmod(0o777)
    return Marked(replace(workload, argv=(*argv, FLAG, f"{folder.name}/marks")), folder)


def _sets_marks(name: str) -> bool:
    return any(
        row.name == name and f"--{parameter.name}" == FLAG
        for row in tables.built_in_kernels()
        for parameter in row.parameters
    )
