"""`becalm sweetspots`: the moments at which a program moves cheaply, from files of counts and on simulated caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.files.written import target, write
from becalm.migration import cache_map, perf_data, rules, simulated, sources
from becalm.migration.engine import ask
from becalm.migration.kinds import of_ratio, visible
from becalm.migration.sweetspots import Spotted
from becalm.units import duration_ns, join_names
from becalm.wording.numbers import counted
from becalm.wording.sweetspots import LEAST_WINDOWS, sentence

MOST_OF_ALL = 64 << 20
"""The size of a file of perf, bytes, above which only one process is analysed."""

TICKS = 20
"""The number of readings of a simulated counter in a window."""


def sweetspots(
    file: str | Path,
    *,
    rules: str = "rise",
    window: float | str | None = None,
    pid: int | None = None,
    llc: str | None = None,
    s1: float | None = None,
    s2: float | None = None,
) -> Spotted:
    """Find the moments at which a program moves cheaply in a file of counts.

    Arguments:
        file: the thesis's log, dumps of callgrind, perf.data, or JSON of records (docs/reference/sweetspots.md).
        rules: rise (ours), published, adaptive or cusum.
        window: T, seconds or text ("5ms"), for records; other files have windows of their own.
        pid: only this process and its descendants; needed for large files of perf. None: the recorded process, where
            the file names it, else all.
        llc: the CPUs of each last-level cache ("0-15,16-31"); None: from the header of a perf.data, else one for all.
        s1, s2: the shares of own and others' references above which misses are many; 0.1 as published.

    Raises UsageError for a file that cannot be read or is damaged, MachineError without the engine.
    """
    stream = sources.read(file)
    if window is not None and not {"records", "perf_data"} & set(stream.origin):
        raise UsageError(f"The windows of {file} were counted already. Leave --window out.")
    if pid is None and "perf_data" in stream.origin and (size := Path(file).stat().st_size) > MOST_OF_ALL:
        raise UsageError(
            f"{file} has {size >> 20} MiB: windows of all its programs would not fit into memory. Name a process: "
            f"--pid N (perf report --sort pid -i {file} lists them)."
        )
    question = {**asked(rules, window, s1, s2), **stream.looked_at, **({} if pid is None else {"tasks": [pid]})}
    if caches := cache_map.typed(llc) if llc else cache_map.of_perf_data(file) if "perf_data" in stream.origin else []:
        question["llc"] = caches
    answer = of_process(known_process(file, pid, ask("spots", {"from": stream.origin, "question": question})))
    events, ratio, kinds = stream.events, stream.miss_ratio, stream.kinds
    if "file" in answer:
        events, ratio = perf_data.events(answer["file"]), answer["file"]["miss_ratio"]
        kinds = of_ratio(ratio)
    answer = named(answer, answer["file"]["names"] if "file" in answer else stream.names)
    if (windows := sum(answer["counted"])) < LEAST_WINDOWS:
        raise UsageError(
            f"{file} holds {counted(windows, 'window')} of counts, and a sweet spot is a change from one to the next: "
            f"at least {LEAST_WINDOWS} are needed. Record for longer, or take shorter windows: --window 1ms"
        )
    answer = visible(answer, kinds)
    return said(Spotted(stream.source, events, stream.unit, rules, answer, miss_ratio=ratio, kinds=kinds))


def simulate_sweetspots(
    workloads: Sequence[str],
    *,
    rules: str = "rise",
    window: float | str | None = None,
    seed: int = 0,
    until: float | str | None = None,
    llc: str | None = None,
    save: str | Path | None = None,
    s1: float | None = None,
    s2: float | None = None,
) -> Spotted:
    """Find sweet spots in workloads on simulated caches: 4 CPUs with 256 KiB of L2 each and 6 MiB in common.

    Arguments:
        workloads: matrixmult:N,REPEATS, memeater:SIZE, cpuburner, change:SIZE, phases:SIZE,SWEEPS,PHASES or trace:FILE,
            each with @CPU; those on the same CPU take turns. Or synthetic:SEED alone, a generated stream with its truth
            in the result.
        rules: rise (ours), published, adaptive or cusum.
        window: T, seconds or text ("5ms").
        seed: for the addresses of pages; equal seeds give equal results.
        until: the simulated time at which to stop; needed where no workload ends by itself.
        llc: bytes of the last-level cache, of 12 ways where its size permits ("384K").
        save: a file for the records, as JSON that `sweetspots` reads.
        s1, s2: as in `sweetspots`.

    Raises UsageError for what cannot be simulated, MachineError without the engine.
    """
    question = asked(rules, window, s1, s2)
    if save is not None:
        target(save)
    if len(workloads) == 1 and workloads[0].startswith("synthetic:"):
        number = workloads[0].partition(":")[2]
        if not (number.isdecimal() and len(number) < 18):
            raise UsageError(f"{workloads[0]!r} has no seed: synthetic:7.")
        synthetic = ask("spots", {"from": {"synthetic": {"seed": int(number)}}, "question": question})
        return said(Spotted("synthetic", "drawn, nothing was counted", "ns", rules, synthetic))
    request: dict[str, Any] = {
        "seed": seed, "question": question, "records": save is not None,
        "tick_ns": max(1_000, (duration_ns(window) if window else 5_000_000) // TICKS),
    }  # fmt: skip
    if until is not None:
        request["until_ns"] = duration_ns(until)
    if llc is not None:
        request["machine"] = {"llc": simulated.cache_of(llc)}
    with ExitStack() as stack:
        request["tasks"] = [simulated.task(workload, stack) for workload in workloads]
        answer = ask("cache", request)
    if save is not None:
        _write(save, {"events": simulated.EVENTS, "records": answer["records"]})
    return said(Spotted("simulation", simulated.EVENTS, "ns", rules, answer["found"]))


def asked(name: str, window: float | str | None, s1: float | None = None, s2: float | None = None) -> dict[str, Any]:
    """Return the question of rules, with a window length and other thresholds. Raises UsageError."""
    chosen = rules.rules_named(name).within(duration_ns(window) if window else rules.WINDOW_NS)
    return {"rules": rules.with_thresholds(chosen, name, s1, s2), "windows": True}


def known_process(file: str | Path, pid: int | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that has the requested process. Raises UsageError where the file does not contain it."""
    if pid is None or any(pid in (program["task"], program["process"]) for program in answer["programs"]):
        return answer
    names = answer["file"]["names"] if "file" in answer else {}
    there = dict.fromkeys(program["process"] for program in answer["programs"] if program["process"] != 0)
    known = join_names(
        f"{process} ({names[str(process)]})" if str(process) in names else str(process) for process in there
    )
    raise UsageError(f"{file} has no process {pid}. There are: {known or 'none'}.")


def named(answer: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer whose programs have the `name` that the source records, None for unknown names."""
    return {
        **answer,
        "programs": [{**program, "name": names.get(str(program["task"]))} for program in answer["programs"]],
    }


def of_process(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the programs that were not requested, which are only visible in the records."""
    wanted = answer["question"].get("tasks")
    if wanted is None:
        return answer
    lists = ("states", "spots", "marks", "migrations", "decisions")
    occurring = {entry["program"] for name in lists for entry in answer[name]}
    occurring |= {window[0] for window in answer.get("windows", ())}
    indices = [at for at, program in enumerate(answer["programs"]) if at in occurring or program["task"] in wanted]
    number = {before: at for at, before in enumerate(indices)}
    result = {**answer, "programs": [answer["programs"][at] for at in indices]}
    for name in lists:
        result[name] = [{**entry, "program": number[entry["program"]]} for entry in answer[name]]
    if "windows" in answer:
        result["windows"] = [[number[window[0]], *window[1:]] for window in answer["windows"]]
    return result


def said(spotted: Spotted) -> Spotted:
    """Return the result with its sentence."""
    return replace(spotted, sentence=sentence(spotted))


def _write(path: str | Path, value: dict[str, Any]) -> None:
    import json

    try:
        write(path, json.dumps(value))
    except OSError as error:
        raise UsageError(f"The records cannot be written to {path}: {error.strerror}.") from None
