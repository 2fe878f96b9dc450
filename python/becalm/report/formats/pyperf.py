"""pyperf's JSON, version 1.0: values in seconds per loop iteration, metadata inherited from suite to run."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

from becalm._version import VERSION
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats.hyperfine import imported


def write(document: Document) -> str:
    """A suite with one benchmark a program, which `pyperf` loads and compares."""
    benchmarks: list[dict[str, Any]] = []
    facts = document.facts
    common: dict[str, Any] = {"unit": "second", "loops": 1, "becalm_version": VERSION}
    host = facts.get("host") if isinstance(facts.get("host"), Mapping) else {}
    cpu = facts.get("cpu") if isinstance(facts.get("cpu"), Mapping) else {}
    for key, value in (("hostname", host.get("hostname")), ("cpu_model_name", cpu.get("model"))):  # type: ignore[union-attr]
        if isinstance(value, str) and value:
            common[key] = value
    for name, runs in by_program(document):
        values = [run.wall_ns / 1e9 for run in runs if run.wall_ns > 0]
        if not values:
            continue
        started = datetime.datetime.fromtimestamp(runs[0].started_ns / 1e9, datetime.UTC)
        took = (runs[-1].started_ns + runs[-1].wall_ns - runs[0].started_ns) / 1e9
        run: dict[str, Any] = {
            "metadata": {"date": started.strftime("%Y-%m-%d %H:%M:%S.%f"), "duration": max(took, 1e-9)},
            "values": values,
        }
        benchmarks.append({"metadata": {**common, "name": name, "command": name}, "runs": [run]})
    return json.dumps({"benchmarks": benchmarks, "metadata": {}, "version": "1.0"}) + "\n"


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    return isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "version" in value


def read(value: dict[str, Any]) -> list[Document]:
    """The suite as one study. Calibration runs have no values and are left out; warm-ups keep round -1."""
    workloads: list[Workload] = []
    runs: list[Run] = []
    for benchmark in value["benchmarks"]:
        inherited = {**(value.get("metadata") or {}), **(benchmark.get("metadata") or {})}
        number = 0
        for run in benchmark["runs"]:
            known = {**inherited, **(run.get("metadata") or {})}
            if known.get("unit", "second") != "second":
                raise ValueError(f"values in {known['unit']}; becalm takes times in seconds only")
            if not number and (not workloads or len(workloads) <= value["benchmarks"].index(benchmark)):
                name = str(known.get("name") or known.get("command") or f"benchmark {len(workloads) + 1}")
                workloads.append(Workload(argv=(name,), name=name))
            started_ns = _date_ns(known.get("date"))
            if "values" not in run:
                continue
            for _, seconds in run.get("warmups") or []:
                runs.append(imported(len(runs), len(workloads) - 1, -1, float(seconds), started_ns=started_ns))
            for seconds in run["values"]:
                runs.append(imported(len(runs), len(workloads) - 1, number, float(seconds), started_ns=started_ns))
                number += 1
    options = ImportOptions(source="pyperf", values="per loop iteration").to_json()
    study = Study("import", tuple(workloads), options=options, host="unknown", title="imported from pyperf")
    return [Document(study, runs, environment="unknown")]


def _date_ns(text: Any) -> int:
    try:
        return int(datetime.datetime.fromisoformat(text).timestamp() * 1e9)
    except (TypeError, ValueError, OverflowError):
        return 0
