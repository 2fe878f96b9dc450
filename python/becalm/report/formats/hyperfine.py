"""hyperfine's JSON (`--export-json`): seconds as floats, means only of user and system time, no machine, no order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from becalm.nouns.conform import conform
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats.exported import SECOND, programs_for
from becalm.report.formats.layout import JsonPart, Unlike, named, scalars
from becalm.report.formats.left_out import LeftOutEntries
from becalm.wording.printable import encodable

UNITS = (SECOND,)
"""The units of values in an exported file: only times."""

LONGEST_S = 1e9
"""The number of seconds from which a value cannot be the time of a run."""


def write(document: Document) -> str:
    """Return the fields that hyperfine 1.20 writes, in its order. Raises UsageError for a study without times."""
    results = []
    imported = document.study.kind == "import"
    options = ImportOptions.from_json(document.study.options) if imported else ImportOptions()
    for program in programs_for(document, "hyperfine", UNITS):
        times, runs = np.array(program.values), program.runs
        place = next(place for place, workload in enumerate(document.study.workloads) if workload is program.workload)
        result: dict[str, Any] = {
            "command": program.name,
            "mean": float(times.mean()),
            "stddev": float(times.std(ddof=1)) if len(times) > 1 else None,
            "median": float(np.median(times)),
            "user": _mean([run.user_ns for run in runs], options.user_ns, place),
            "system": _mean([run.system_ns for run in runs], options.system_ns, place),
            "min": float(times.min()),
            "max": float(times.max()),
            "times": times.tolist(),
        }
        if all(run.max_rss_bytes is not None for run in runs):
            result["memory_usage_byte"] = [run.max_rss_bytes for run in runs]
        result["exit_codes"] = [run.status for run in runs]
        if program.workload.parameters:
            result["parameters"] = {encodable(k): encodable(v) for k, v in program.workload.parameters}
        results.append(result)
    return json.dumps({"results": results}, indent=2) + "\n"


def _mean(values: list[int | None], means_ns: Sequence[float | None], place: int) -> float | None:
    """Return the mean of times in seconds, or the mean that another tool recorded; None where it is unknown."""
    known = [value for value in values if value is not None]
    mean_ns = float(np.mean(known)) if known else dict(enumerate(means_ns)).get(place)
    return None if mean_ns is None else mean_ns / 1e9


def recognises(value: Any) -> bool:
    """Return whether a JSON value is of this format."""
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list):
        return False
    return not results or any(isinstance(result, dict) and "command" in result for result in results)


def read(value: dict[str, Any]) -> list[Document]:
    """Return the results as one study. Missing values are unknown; a result without times is one run, their mean."""
    left_out = LeftOutEntries()
    workloads: list[Workload] = []
    runs: list[Run] = []
    user, system = [], []
    results = list(JsonPart(value)["results"])
    for result in results:
        with left_out.entry(named(result, "command")):
            command = result["command"].text()
            parameters = scalars(result.members().get("parameters"))
            program = Workload(argv=("/bin/sh", "-c", command), name=command, parameters=parameters)
            conform(Workload, program, "the program")
            result_runs = _runs(result, command, left_out)
            runs += [
                run._replace(seq=len(runs) + place, workload=len(workloads)) for place, run in enumerate(result_runs)
            ]
            workloads.append(program)
            user.append(_cpu_ns(result, "user", command, left_out))
            system.append(_cpu_ns(result, "system", command, left_out))
    if results and not workloads:
        raise left_out.refusal("it holds no result with times")
    options = ImportOptions(source="hyperfine", user_ns=tuple(user), system_ns=tuple(system)).to_json()
    study = Study("import", tuple(workloads), options=options, host="unknown", title="imported from hyperfine")
    return [Document(study, runs, environment="unknown", noticed=left_out.findings())]


def _runs(result: JsonPart, name: str, left_out: LeftOutEntries) -> list[Run]:
    """Return the runs of one result. Raises Unlike where it has none, or lists next to the times do not fit them."""
    times = list(result.get("times") or ()) or [result["mean"]]
    codes = _alongside(result, "exit_codes", len(times))
    memory = _alongside(result, "memory_usage_byte", len(times))
    runs: list[Run] = []
    reasons: list[Exception] = []
    for seconds, code, size in zip(times, codes, memory, strict=True):
        try:
            run = imported(0, 0, len(runs), seconds.number(), status=code, memory=size)
            conform(Run, run, "the run")
            runs.append(run)
        except ValueError as error:
            reasons.append(error)
    if not runs:
        raise reasons[0]
    for reason in reasons:
        left_out.add(name, str(reason))
    return runs


def _cpu_ns(result: JsonPart, which: str, name: str, left_out: LeftOutEntries) -> float | None:
    """Return the mean CPU time of a result's runs, ns; None where it is missing, null or (reported) invalid."""
    mean = result.get(which)
    if mean is None or mean.value is None:
        return None
    try:
        seconds = mean.number()
        if not 0 <= seconds < LONGEST_S:
            raise ValueError(f"{which}: {seconds!r} seconds is not a possible CPU time of a run")
    except ValueError as error:
        left_out.add(name, str(error))
        return None
    return seconds * 1e9


def _alongside(result: JsonPart, name: str, times: int) -> list[int | None]:
    """Return a whole number for each run, None where it is unknown. Raises Unlike."""
    alongside = result.get(name)
    numbers = [] if alongside is None else [None if part.value is None else part.whole() for part in alongside]
    if numbers and len(numbers) != times:
        raise Unlike(f"results have {times} times and {len(numbers)} {name}")
    return numbers or [None] * times


def imported(
    seq: int,
    workload: int,
    number: int,
    seconds: float | None,
    *,
    status: int | None = None,
    memory: int | None = None,
    started_ns: int = 0,
) -> Run:
    """Return a run of another tool; missing values are None, never zero."""
    if seconds is not None and not 0 <= seconds < LONGEST_S:
        raise ValueError(f"{seconds!r} seconds is not a possible time of a run")
    wall_ns = None if seconds is None else round(seconds * 1e9)
    return Run(
        seq, workload, 0, number, 0, started_ns, wall_ns, None, None, None, memory, None, None, None,
        None, str(Outcome.OK), status, 0,
    )  # fmt: skip
