"""Results and their runs as columns and as pandas data frames, for notebooks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import structs

from becalm.errors import UsageError, install
from becalm.nouns.finding import Interval
from becalm.nouns.result import Result
from becalm.nouns.run import COLUMNS
from becalm.results.compare import Verdict
from becalm.results.compare_stored import StoredComparison
from becalm.study.stored import stored
from becalm.units import join_names
from becalm.wording.program_names import program_labels

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, list[Any]]


def columns(result: Result, what: str | None = None, *, store: str | None = None) -> Columns:
    """Return columns of equal length by name.

    Arguments:
        result: the result of a verb: `run`, `compare`, `tune`, `history` …
        what: of `run` and `compare` "programs" (one row each; times in ns, spread as a fraction), "differences"
            (fractions) or "runs" (every run in order, with its program's name; read from the store). Of any other
            result one of its lists, such as "arms" and "trials" of `tune`, with a column for each field [default: the
            programs, else the first list that has rows].
        store: where runs are kept [default: the usual store].

    Raises UsageError for another word, and for runs that were not stored; StoreError.
    """
    if isinstance(result, Verdict) and what == "runs":
        return _runs(result, store)
    if isinstance(result, (Verdict, StoredComparison)) and what in (None, "programs"):
        return _programs(result)
    if isinstance(result, (Verdict, StoredComparison)) and what == "differences":
        differences = (
            result.differences if isinstance(result, Verdict) else [row.difference for row in result.benchmarks]
        )
        names = ("name", "reference", "estimate", "low", "high", "answer", "p_value", "pairs", "detectable")
        return {name: [_plain(getattr(row, name)) for row in differences] for name in names}
    lists = _lists(result)
    if what is None:
        what = next((name for name, rows in lists.items() if rows), next(iter(lists), ""))
    if what not in lists:
        known = ["programs", "differences", "runs"] if isinstance(result, (Verdict, StoredComparison)) else []
        known = list(dict.fromkeys([*known, *lists]))
        raise UsageError(
            f"A {type(result).__name__} has no columns of {what!r}."
            + (f" It has those of {join_names(known)}." if known else " Its fields and `to_json()` have its numbers.")
        )
    return _fields(lists[what])


def data_frame(result: Result, what: str | None = None, *, store: str | None = None) -> DataFrame:
    """Return the columns as a pandas DataFrame.

    Raises UsageError where pandas is not installed, and as `columns` does."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise UsageError(f"Data frames need pandas: {install('pandas')}. Or take becalm.columns.") from None
    return cast("DataFrame", pandas.DataFrame(dict(columns(result, what, store=store))))


def _lists(result: object) -> dict[str, Sequence[Any]]:
    """Return the lists of values in a result by their fields' names. Raises UsageError for anything but a result."""
    if not isinstance(result, msgspec.Struct):
        raise UsageError(f"Columns are made of a result of becalm, not of {type(result).__name__}.")
    values = structs.asdict(result)
    return {
        name: rows
        for name, rows in values.items()
        if isinstance(rows, tuple) and all(isinstance(row, msgspec.Struct) for row in rows) and _of_values(result, name)
    }


def _of_values(result: object, name: str) -> bool:
    """Return whether a field holds values, by its rows, or by its annotation where it has none."""
    if getattr(result, name):
        return True
    text = str(type(result).__annotations__[name])
    return bool(re.match(r"tuple\[[A-Z]", text))


def _fields(rows: Sequence[Any]) -> Columns:
    """Return a column for each field of rows; an interval has columns for its value and its ends."""
    result: dict[str, list[Any]] = {}
    for field in rows[0].__struct_fields__ if rows else ():
        values = [getattr(row, field) for row in rows]
        if any(isinstance(value, Interval) for value in values):
            for end, name in (("value", field), ("low", f"{field}_low"), ("high", f"{field}_high")):
                result[name] = [getattr(value, end, None) for value in values]
        else:
            result[field] = [_plain(value) for value in values]
    return result


def _programs(comparison: Verdict | StoredComparison) -> Columns:
    if isinstance(comparison, StoredComparison):
        names = ("name", "unit", "old", "new", "old_runs", "new_runs", "old_sessions", "new_sessions", "shift")
        return {name: [getattr(benchmark, name) for benchmark in comparison.benchmarks] for name in names}
    intervals = ("mean_ns", "median_ns", "cv")
    plain = ("name", "runs", "failed", "sd_ns", "min_ns", "max_ns", "user_ns", "system_ns", "wait_ns", "max_rss_bytes")
    result: dict[str, list[Any]] = {
        name: [getattr(summary, name) for summary in comparison.summaries] for name in plain
    }
    for name in intervals:
        for end, column in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
            # Imported runs may have no wall times.
            result[column] = [getattr(getattr(summary, name), end, None) for summary in comparison.summaries]
    return result


def _runs(verdict: Verdict, store: str | None) -> Columns:
    if verdict.study is None:
        raise UsageError("These runs were not stored (--no-store), so there are none to read.")
    document = stored(verdict.study, store)
    names = program_labels(document.study.workloads)
    runs = list(document.runs)
    return {
        "program": [names[run.workload] for run in runs],
        **{name: [getattr(run, name) for run in runs] for name in COLUMNS},
    }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value
