"""hyperfine's JSON (`--export-json`): seconds as floats, user and system as means only, no machine, no order."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats.layout import Part, Unlike


def write(document: Document) -> str:
    """The fields that hyperfine 1.20 writes, in its order."""
    results = []
    for (name, runs), workload in zip(by_program(document), document.study.workloads, strict=True):
        if not runs:
            continue
        wall = np.array([run.wall_ns for run in runs], dtype=np.float64) / 1e9
        result: dict[str, Any] = {
            "command": name,
            "mean": float(wall.mean()),
            "stddev": float(wall.std(ddof=1)) if len(wall) > 1 else None,
            "median": float(np.median(wall)),
            "user": _mean([run.user_ns for run in runs]),
            "system": _mean([run.system_ns for run in runs]),
            "min": float(wall.min()),
            "max": float(wall.max()),
            "times": wall.tolist(),
        }
        if all(run.max_rss_bytes is not None for run in runs):
            result["memory_usage_byte"] = [run.max_rss_bytes for run in runs]
        result["exit_codes"] = [run.status for run in runs]
        if workload.parameters:
            result["parameters"] = dict(workload.parameters)
        results.append(result)
    return json.dumps({"results": results}, indent=2) + "\n"


def _mean(values: list[int | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) / 1e9 if known else 0.0


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, list) and all(isinstance(each, dict) and "command" in each for each in results)


def read(value: dict[str, Any]) -> list[Document]:
    """The results as one study. What hyperfine does not tell is unknown; runs without times are one mean each."""
    workloads = []
    runs: list[Run] = []
    for index, result in enumerate(Part(value)["results"]):
        command = result["command"].text()
        given = result.get("parameters")
        parameters = tuple(sorted((str(k), str(v)) for k, v in ({} if given is None else given.members()).items()))
        workloads.append(Workload(argv=("/bin/sh", "-c", command), name=command, parameters=parameters))
        times = [each.number() for each in result.get("times") or ()] or [result["mean"].number()]
        codes = _beside(result, "exit_codes", len(times)) or [0] * len(times)
        memory = _beside(result, "memory_usage_byte", len(times)) or [None] * len(times)
        for number, (seconds, code, size) in enumerate(zip(times, codes, memory, strict=True)):
            runs.append(imported(len(runs), index, number, seconds, status=code, memory=size))
    options = ImportOptions(source="hyperfine").to_json()
    study = Study("import", tuple(workloads), options=options, host="unknown", title="imported from hyperfine")
    return [Document(study, runs, environment="unknown")]


def _beside(result: Part, name: str, times: int) -> list[int | None]:
    """A whole number of each run, None where it is not known; empty where there are none. Raises Unlike."""
    given = result.get(name)
    found = [] if given is None else [None if each.value is None else each.whole() for each in given]
    if found and len(found) != times:
        raise Unlike(f"results have {times} times and {len(found)} {name}")
    return found


def imported(
    seq: int,
    workload: int,
    number: int,
    seconds: float,
    *,
    status: int | None = None,
    memory: int | None = None,
    started_ns: int = 0,
) -> Run:
    """A run of another tool: what it does not tell is None, never zero."""
    if not 0 <= seconds < 1e9:
        raise ValueError(f"{seconds!r} seconds is not a run time")
    return Run(
        seq, workload, 0, number, 0, started_ns, round(seconds * 1e9), None, None, None, memory, None, None, None,
        None, str(Outcome.OK), status, 0,
    )  # fmt: skip
