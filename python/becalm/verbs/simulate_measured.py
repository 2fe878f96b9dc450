"""`becalm simulate --measure HOST --save FILE.toml -- PROGRAM…`: how long programs take alone, and next to each other.

Every program runs alone and, repeatedly, next to every program of the list, itself included, in random order. The file
has the times alone, by quantiles, and the speeds next to each other, alone / combined (Anderson 2013, Operating System
Scheduling Optimization, eq. 3.1), from which `becalm simulate -- FILE.toml` computes their progress (3.2).
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from becalm import hosts
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.files.written import target, write
from becalm.hosts import Host, MeasureRequest, runs_of
from becalm.hosts.simulated.scheduler import measured, states
from becalm.nouns.run import Block, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.simulate_measured import USUAL_BURST_NS, MeasuredProgram, MeasuredPrograms

MOST_PROGRAMS = 32
MOST_QUANTILES = 9

ALONGSIDE = """[ -e /proc/$$/exe ] || exit 3
setsid sh -c 'while [ -e "/proc/$1/exe" ]; do eval "$0"; done' {other} $$ >/dev/null 2>&1 & alongside=$!
{own} >/dev/null; code=$?
kill -9 -- -$alongside 2>/dev/null || kill -9 $alongside; wait $alongside 2>/dev/null; exit $code"""
"""The script for sh(1) of a program next to another one, which is restarted whenever it ends; setsid(1) lets it be
ended. When the script is killed, the other program runs to its end and is not restarted any more: of a process that
has ended, `exe` in /proc is gone."""

Said = Callable[[str], None]


def measure_programs(
    programs: Sequence[str],
    *,
    host: str = "local",
    save: str | Path,
    runs: int = 8,
    seed: int = 1,
    say: Said | None = None,
) -> MeasuredPrograms:
    """Measure programs alone and next to each other, and write a file for the simulator.

    Arguments:
        programs: command lines.
        host: where they run; it needs sh(1) and setsid(1).
        save: the file of TOML that is written.
        runs: the number of runs of each program alone and next to each, after one that is not counted.
        seed: for the order of the runs.
        say: called with a sentence about progress.

    Raises UsageError, MachineError; WorkloadError when a program fails.
    """
    if runs < 2:
        raise UsageError("Programs are measured 2 times or more: --runs 2.")
    path = Path(save)
    if path.suffix != ".toml" or not path.parent.is_dir():
        raise UsageError(
            f"--save takes the name of a TOML file in an existing directory, such as FILE.toml, not {str(save)!r}."
        )
    target(path)
    argvs = _split(programs)
    with hosts.open(host) as opened:
        cpus = _cpus(opened)
        alone, alongside = _run(opened, argvs, runs, seed, say or (lambda _: None))
    names = list(argvs)
    measured_programs = MeasuredPrograms(
        cpus,
        tuple(
            MeasuredProgram(
                name,
                _quantiles([run.took_ns for run in alone[name]]),
                _busy(alone[name], cpus),
                {other: _speed(alone[name], alongside[name, other]) for other in names},
                _burst(alone[name]),
            )
            for name in names
        ),
    )
    try:
        write(path, measured_programs.toml)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}.") from None
    states.read(path)
    return measured_programs


def _split(programs: Sequence[str]) -> dict[str, list[str]]:
    """Return the argument lists by text. Raises UsageError."""
    if not 1 <= len(programs) <= MOST_PROGRAMS:
        raise UsageError(f"1 to {MOST_PROGRAMS} programs are measured next to each other, not {len(programs)}.")
    for text in programs:
        if text.startswith("-") or not text.strip():
            raise UsageError(f"{text!r} is not a program. Put each one in quotes with its arguments: 'gzip -9 -c FILE'")
    result = {text: shlex.split(text) for text in programs}
    if len(result) < len(programs):
        raise UsageError("A program is named twice. Each one is measured next to a copy of itself anyway.")
    return result


def _cpus(host: Host) -> int:
    cpu = host.facts().get("cpu")
    if not cpu:
        raise UsageError(f"{host.name} runs no programs. Measure them on local, guest:6.1, or ssh://…")
    return int(cpu["allowed_count"])


def _run(
    host: Host, argvs: Mapping[str, list[str]], runs: int, seed: int, say: Said
) -> tuple[dict[str, list[Run]], dict[tuple[str, str], list[Run]]]:
    """Return all runs alone, and next to each other."""
    pairs = [(own, other) for own in argvs for other in argvs]
    programs = [Workload(argv=tuple(argv)) for argv in argvs.values()]
    for own, other in pairs:
        script = ALONGSIDE.format(other=shlex.quote(shlex.join(argvs[other])), own=shlex.join(argvs[own]))
        programs.append(Workload(argv=("sh", "-c", script)))
    rng = np.random.default_rng(seed)
    order = [Step(int(which), 0, 0, turn - 1) for turn in range(runs + 1) for which in rng.permutation(len(programs))]
    names: list[str | tuple[str, str]] = [*argvs, *pairs]
    alone: dict[str, list[Run]] = {name: [] for name in argvs}
    alongside: dict[tuple[str, str], list[Run]] = {pair: [] for pair in pairs}
    host.define(programs, [Settings()])
    say(
        f"{len(order)} runs on {host.name}: {len(argvs)} alone, {len(pairs)} next to each other, {runs + 1} times each."
    )
    for run in _ok(runs_of(host.measure(MeasureRequest(0, Block(tuple(order))))), names):
        if not run.warmup:
            name = names[run.workload]
            (alone[name] if isinstance(name, str) else alongside[name]).append(run)
    return alone, alongside


def _ok(runs: Iterator[Run], names: Sequence[str | tuple[str, str]]) -> Iterator[Run]:
    for run in runs:
        if run.outcome != "ok":
            name = names[run.workload]
            title = name if isinstance(name, str) else " next to ".join(name)
            raise WorkloadError(f"{title} did not end well: {run.outcome}.")
        yield run


def _quantiles(values: Sequence[float]) -> tuple[int, ...]:
    shares = np.linspace(0, 1, min(len(values), MOST_QUANTILES))
    return tuple(round(float(quantile)) for quantile in np.quantile(values, shares))


def _busy(runs: Sequence[Run], cpus: int) -> float:
    """Return the number of CPUs that a program keeps busy: CPU time over wall time, at least a hundredth."""
    used = [((run.user_ns or 0) + (run.system_ns or 0)) / run.took_ns for run in runs]
    return round(min(max(statistics.median(used), 0.01), cpus), 3)


def _burst(runs: Sequence[Run]) -> int:
    """Return the CPU time between two waits, ns, by the program's voluntary switches; 1 ms where these are unknown."""
    times = [
        ((run.user_ns or 0) + (run.system_ns or 0)) / max(1, run.voluntary) for run in runs if run.voluntary is not None
    ]
    return round(min(max(statistics.median(times), 1e4), 1e8)) if times else USUAL_BURST_NS


def _speed(alone: Sequence[Run], alongside: Sequence[Run]) -> float:
    means = [statistics.fmean(run.took_ns for run in runs) for runs in (alone, alongside)]
    return round(min(max(means[0] / means[1], 0.01), measured.FASTEST), 4)
