"""`becalm sweetspots`: when a program moves cheaply, by files of what was counted, and on simulated caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.written import target, write
from becalm.migration import cache_map, perf_data, rules, simulated, sources
from becalm.migration.engine import ask
from becalm.migration.kinds import of_ratio, visible
from becalm.migration.sweetspots import Spotted
from becalm.units import duration_ns, listed
from becalm.wording.compare import counted
from becalm.wording.sweetspots import LEAST_WINDOWS, sentence

MOST_OF_ALL = 64 << 20
"""The size of a file of perf, bytes, above which only one process is looked at."""

TICKS = 20
"""Readings of a simulated counter in a window."""


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
        file: the thesis's log, dumps of callgrind, perf.data or JSON of records (docs/reference/sweetspots.md).
        rules: rise (ours), published, adaptive or cusum.
        window: T, seconds or text ("5ms"), for records; others have windows of their own.
        pid: only this process and what it forks; needed for large files of perf. None: the one that was recorded, where
            the file says so, else all.
        llc: the CPUs of each last-level cache ("0-15,16-31"); None: as the header of a perf.data says, else one of all.
        s1, s2: the shares of own and of others' references from which on misses are many; 0.1 as published.

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
    found = of_process(known_process(file, pid, ask("spots", {"from": stream.origin, "question": question})))
    events, ratio, kinds = stream.events, stream.miss_ratio, stream.kinds
    if "file" in found:
        events, ratio = perf_data.events(found["file"]), found["file"]["miss_ratio"]
        kinds = of_ratio(ratio)
    found = named(found, found["file"]["names"] if "file" in found else stream.names)
    if (windows := sum(found["counted"])) < LEAST_WINDOWS:
        raise UsageError(
            f"{file} holds {counted(windows, 'window')} of counts, and a sweet spot is a change from one to the next: "
            f"at least {LEAST_WINDOWS} are needed. Record for longer, or take shorter windows: --window 1ms"
        )
    found = visible(found, kinds)
    return said(Spotted(stream.source, events, stream.unit, rules, found, miss_ratio=ratio, kinds=kinds))


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
    """Find them in workloads on simulated caches: 4 CPUs with 256 KiB of L2 each and 6 MiB in common.

    Arguments:
        workloads: matrixmult:N,REPEATS, memeater:SIZE, cpuburner, change:SIZE, phases:SIZE,SWEEPS,PHASES or trace:FILE,
            each with @CPU; those of one CPU take turns. Or synthetic:SEED alone, a drawn stream whose truth is in the
            result.
        rules: rise (ours), published, adaptive or cusum.
        window: T, seconds or text ("5ms").
        seed: of the places of pages; equal seeds give equal results.
        until: stop after so much simulated time; needed where nothing ends by itself.
        llc: bytes of the last-level cache, of 12 ways where its size allows ("384K").
        save: write the records there, as JSON that `sweetspots` reads.
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
        found = ask("spots", {"from": {"synthetic": {"seed": int(number)}}, "question": question})
        return said(Spotted("synthetic", "drawn, nothing was counted", "ns", rules, found))
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


def known_process(file: str | Path, pid: int | None, found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that has the process that was asked for. Raises UsageError where the file does not know it."""
    if pid is None or any(pid in (program["task"], program["process"]) for program in found["programs"]):
        return found
    names = found["file"]["names"] if "file" in found else {}
    there = dict.fromkeys(program["process"] for program in found["programs"] if program["process"] != 0)
    known = listed(f"{each} ({names[str(each)]})" if str(each) in names else str(each) for each in there)
    raise UsageError(f"{file} has no process {pid}. There are: {known or 'none'}.")


def named(found: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer whose programs have the `name` that the source knows, None for unknown ones."""
    return {
        **found,
        "programs": [{**program, "name": names.get(str(program["task"]))} for program in found["programs"]],
    }


def of_process(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the programs that were not asked for, which were only seen."""
    wanted = found["question"].get("tasks")
    if wanted is None:
        return found
    lists = ("states", "spots", "marks", "migrations", "decisions")
    named = {each["program"] for name in lists for each in found[name]} | {each[0] for each in found.get("windows", ())}
    kept = [at for at, each in enumerate(found["programs"]) if at in named or each["task"] in wanted]
    number = {before: at for at, before in enumerate(kept)}
    result = {**found, "programs": [found["programs"][at] for at in kept]}
    for name in lists:
        result[name] = [{**each, "program": number[each["program"]]} for each in found[name]]
    if "windows" in found:
        result["windows"] = [[number[window[0]], *window[1:]] for window in found["windows"]]
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
