"""A Markdown table: one row a program, and the verdict's sentence below."""

from __future__ import annotations

import numpy as np

from becalm.nouns.tune_verdict import from_json
from becalm.report.document import Document, by_program
from becalm.report.markdown import code, escaped
from becalm.report.tune import markdown as steady
from becalm.wording.measurement import duration, percent


def write(document: Document) -> str:
    """The summary of a study; of a search for settings, and of a watched run, its whole report."""
    if document.study.kind == "tune" and document.verdict is not None:
        return steady.write(from_json(document.verdict))
    if document.study.kind == "watch":
        from becalm.report.watch.markdown import write as watched
        from becalm.report.watch.stored import conclude

        return watched(conclude(document, document.number))
    lines = [
        "| program | runs | mean | median | min | max | spread |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, runs in by_program(document):
        cells = [code(name), str(len(runs))]
        if runs:
            wall = np.array([run.wall_ns for run in runs], dtype=np.float64)
            cells += [duration(float(f(wall))) for f in (np.mean, np.median, np.min, np.max)]
            cells.append(f"{percent(float(wall.std(ddof=1) / wall.mean()))} %" if len(wall) > 1 else "")
        else:
            cells += [""] * 5
        lines.append("| " + " | ".join(cells) + " |")
    if document.verdict and document.verdict.get("sentence"):
        lines += ["", *map(escaped, str(document.verdict["sentence"]).splitlines())]
    if document.environment == "unknown":
        lines += ["", "Imported from another tool: machine, order and conditions are unknown."]
    return "\n".join(lines) + "\n"
