"""Profile the two programs of a comparison in turns, and find the functions in which they differ.

The profiled runs follow the comparison and are not part of it, because a profiler slows programs down.

Public: check_where, locate.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from becalm import system_clock
from becalm.analysis.where import Profile, by_counts, by_samples
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.files.function_profile import Function, callgrind_counts, perf_samples
from becalm.hosts import Host, MeasureRequest, is_local, runs_of
from becalm.nouns.callgrind import VALGRIND, counting, counting_environment
from becalm.nouns.run import PILOT, Block, Outcome, Step
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.results.where import Source, Where
from becalm.wording.program_names import names_of

HERTZ = (5_000, 10_000)
"""The range of sampling rates, per second of CPU time. Each run's rate is drawn from it: with a fixed rate the samples
of a program that repeats itself would fall on the same places of its loops in each run."""

HIGHEST = Path("/proc/sys/kernel/perf_event_max_sample_rate")
"""The kernel's file with the largest permitted sampling rate."""

EVENT = "cpu-clock:u"
"""The sampled event: a clock of the kernel, which needs no counter of the processor, in user space only."""

FEWEST, ENOUGH = 10, 60
"""The least and the largest number of rounds with samples."""

COUNTED = 2
"""The number of runs of each program with exact counts."""

SPENT_S = 10.0
"""The time after which sampling ends once it has FEWEST rounds, s; at least as long as the comparison took."""

PROGRAM = "the program"
"""The name in place of the program's own file, which may have another name in each build."""

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def check_where(programs: Sequence[Workload], host: str) -> None:
    """Check that the functions of these programs can be compared on a host. Raises UsageError and MachineError."""
    if len(programs) != 2:
        raise UsageError(f"--where compares the functions of two programs, and there are {len(programs)}.")
    if not is_local(host):
        raise UsageError(
            "--where reads the profiles of programs on this machine. Leave --host out, or run becalm there."
        )
    for program in programs:
        if program.kernel or program.copies > 1:
            raise UsageError(f"{program.name} cannot be profiled: --where takes command lines, and one copy of each.")
    _choose_profiler(exact=False)


def locate(host: Host, study: Study, *, first: int, elapsed_ns: int | None, user: str | None) -> Where:
    """Return the functions in which the two programs of a study differ.

    `first`: the number of the next run. `elapsed_ns`: how long the comparison took; profiling takes as long, but at
    least SPENT_S. `user`: the user that runs the programs. Raises MachineError without a profiler, and WorkloadError
    where a program fails under it.
    """
    exact = any(metric.exact for workload in study.workloads for metric in workload.metrics)
    source = _choose_profiler(exact=exact)
    names = names_of(study.workloads)
    with tempfile.TemporaryDirectory(prefix="becalm-profile-") as directory:
        path = Path(directory)
        if user is not None and os.geteuid() == 0:
            account = pwd.getpwnam(user)
            os.chown(path, account.pw_uid, account.pw_gid)
        profiling = _Profiling(host, study, source, path, first)
        profiles = profiling.rounds((elapsed_ns or 0) / 1e9)
    old, new = profiles
    if source is Source.COUNTS:
        return by_counts((names[0], names[1]), old, new)
    return by_samples((names[0], names[1]), old, new, 2 / sum(profiling.hertz))


def _choose_profiler(*, exact: bool) -> Source:
    """Return the profiler to use: callgrind for exact counts, else perf where it may be used. Raises MachineError."""
    if not exact and shutil.which("perf") and _may_sample():
        return Source.SAMPLES
    if shutil.which(VALGRIND):
        return Source.COUNTS
    raise MachineError("--where needs a profiler: install perf (Debian: linux-perf) or valgrind.")


def _files_of(program: Workload) -> set[str]:
    """Return the file names under which a profiler may report a program's own code."""
    path = shutil.which(program.argv[0], path=dict(program.environment).get("PATH"))
    file = Path(program.argv[0]) if path is None else Path(path)
    return {file.name, Path(os.path.realpath(file)).name}


def _rates() -> tuple[int, int]:
    """Return the range of sampling rates within the limit of the kernel, per second."""
    try:
        highest = max(100, int(HIGHEST.read_text()))
    except (OSError, ValueError):
        return HERTZ
    return min(HERTZ[0], highest // 2), min(HERTZ[1], highest)


def _may_sample() -> bool:
    """Return whether this user may sample programs."""
    try:
        return os.geteuid() == 0 or int(PARANOID.read_text()) <= 2
    except (OSError, ValueError):
        return False


class _Profiling:
    """Runs of two programs under a profiler, one at a time, each with its own file."""

    def __init__(self, host: Host, study: Study, source: Source, path: Path, first: int) -> None:
        self.host = host
        self.source = source
        self.path = path
        self.next = first
        self.programs = study.workloads
        self.own = {name for program in study.workloads for name in _files_of(program)}
        self._rng = random.Random(study.seed)
        self.settings = study.settings
        self.hertz = _rates()
        self._rate = 1

    def _define(self) -> None:
        """Define the profiled programs on the host, with a newly drawn sampling rate."""
        self._rate = self._rng.randint(*self.hertz)
        programs = [self._profiled(index, program) for index, program in enumerate(self.programs)]
        self.host.define(programs, self.settings)

    def _profiled(self, index: int, program: Workload) -> Workload:
        if self.source is Source.COUNTS:
            argv = counting(program.argv, str(self.path / f"{index}.%p"))
            environment = counting_environment(program.environment)
            return replace(program, argv=argv, environment=environment, metrics=())
        argv = ("perf", "record", "-q", "-e", EVENT, "-F", str(self._rate), "-o", str(self.path / f"{index}.0"), "--")
        return replace(program, argv=(*argv, *program.argv), metrics=())

    def rounds(self, seconds: float) -> tuple[list[Profile], list[Profile]]:
        """Return the profiles of both programs by round. Raises WorkloadError.

        `seconds`: the approximate time for sampling, at least SPENT_S.
        """
        profiles: tuple[list[Profile], list[Profile]] = [], []
        end_ns = system_clock.monotonic_ns() + int(max(seconds, SPENT_S) * 1e9)
        while True:
            done = len(profiles[0])
            if self.source is Source.COUNTS and done == COUNTED:
                return profiles
            if done >= ENOUGH or (done >= FEWEST and system_clock.monotonic_ns() > end_ns):
                return profiles
            for index in self._rng.sample(range(2), 2):
                profiles[index].append(self._run(index))

    def _run(self, index: int) -> Profile:
        self._define()
        rows = list(runs_of(self.host.measure(MeasureRequest(self.next, Block((Step(index, 0, 0, PILOT),))))))
        self.next += 1
        files = sorted(self.path.glob(f"{index}.*"))
        if not rows or rows[0].outcome != Outcome.OK or not files:
            raise WorkloadError(
                f"{self.programs[index].name} did not end well under {self.source}, so --where shows nothing."
            )
        profile: Counter[Function] = Counter()
        for file in files:
            profile += self._read(file)
            file.unlink()
        # Samples become seconds; counts stay as they are.
        unit = 1 / self._rate if self.source is Source.SAMPLES else 1
        merged: dict[Function, float] = {}
        for (name, code), count in profile.items():
            function = name, PROGRAM if code in self.own else code
            merged[function] = merged.get(function, 0) + count * unit
        return merged

    def _read(self, file: Path) -> Counter[Function]:
        if self.source is Source.COUNTS:
            return callgrind_counts(file.read_text(errors="replace"))
        command = ["perf", "script", "-i", str(file), "-F", "ip,sym,dso", "--force"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise MachineError(f"perf script failed: {' '.join(done.stderr.split())[:300]}")
        return perf_samples(done.stdout)
