"""Sentences about the result of a suite."""

from __future__ import annotations

import math

from becalm.results.suite import Ratings, Tuning
from becalm.wording import study_findings

UNKNOWN = "–"


def sentence(ratings: Ratings) -> str:
    """Return all sentences, one line for each tuning and each remark."""
    lines = [_line(ratings, tuning) for tuning in ratings.tunings]
    if ratings.failed:
        lines.append(
            f"{ratings.failed} run{'s' if ratings.failed > 1 else ''} did not end well and do not count. "
            f"See their output: becalm show {ratings.study or 'last'}"
        )
    if ratings.emulated:
        lines.append(study_findings.emulated("", {"reason": ratings.emulated}))
    if ratings.standing:
        lines.append(study_findings.settings("", {"settings": {}, "standing": ratings.standing}))
    if ratings.by_metric:
        lines.append("There are no rates: a rate is computed from times, and the output of copies would mix.")
    for tuning in ratings.tunings:
        if alongside := [program for program in tuning.programs if program.contaminated]:
            who = ", ".join(
                f"{program.name} ({program.contaminated} of {len(program.times_ns)})" for program in alongside
            )
            name = f" of {tuning.name}" if len(ratings.tunings) > 1 else ""
            by_cpu = (
                " The column 'by CPU time' is the reference over CPU time, which others lengthen less; it includes no "
            )
            known = f"{by_cpu}waiting." if any(program.cpu_ratio is not None for program in alongside) else ""
            lines.append(f"Other programs ran during some runs{name}: {who}.{known}")
    without = [
        program.name
        for program in ratings.tunings[0].programs
        if program.reference_ns is None and program.reference is None
    ]
    if without:
        lines.append(
            f"Without a reference time there is no ratio, and no geometric mean: {', '.join(without)}. Write one into "
            'the file, for example the median: reference = "12.3s"'
        )
    return "\n".join(lines)


def _line(ratings: Ratings, tuning: Tuning) -> str:
    count = f"{len(tuning.programs)} programs" if len(tuning.programs) > 1 else "1 program"
    head = f"{ratings.suite}, {tuning.name}: {count}, median of {ratings.runs} {'run' if ratings.runs == 1 else 'runs'}"
    parts = []
    if tuning.ratio is not None:
        parts.append(f"ratio {number(tuning.ratio)}")
    if ratings.copies is not None and tuning.rate is not None:
        parts.append(f"rate {number(tuning.rate)} with {copies(ratings.copies)}")
    return f"{head}; geometric mean: {', '.join(parts)}." if parts else f"{head}."


def copies(count: int) -> str:
    """Return a number of copies: "1 copy", "4 copies"."""
    return "1 copy" if count == 1 else f"{count} copies"


LARGEST = 999_999_999
"""The number above which ratios and rates are written with an exponent."""


def number(value: float | None) -> str:
    """Return a number with three digits, as SPEC reports it: 12.3, 1,230."""
    if value is None:
        return UNKNOWN
    if not value < LARGEST:
        return UNKNOWN if math.isnan(value) else f"{value:.2e}" if math.isfinite(value) else f">{LARGEST:,}"
    if value >= 1000:
        return f"{round(value, 2 - len(str(int(value))) + 1):,.0f}"
    return f"{value:#.3g}".rstrip(".") if value < 100 else f"{value:.0f}"
