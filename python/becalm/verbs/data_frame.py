"""Verdicts and their runs as columns and as pandas' data frames, for notebooks."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from becalm.errors import UsageError, install
from becalm.nouns.run import COLUMNS
from becalm.nouns.stored_comparison import StoredComparison
from becalm.nouns.verdict import Verdict
from becalm.study.stored import stored

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, list[Any]]


def columns(found: Verdict | StoredComparison, what: str = "programs", *, store: str | None = None) -> Columns:
    """Columns of equal length by name.

    Arguments:
        found: what `run`, `compare` or `compare_stored` gave.
        what: "programs" (one row each; times in ns, spread as a fraction), "differences" (fractions) or "runs" (every
            run in order, with its program's name; read from the store).
        store: where runs are kept [default: the usual store].

    Raises UsageError for another word, and for runs of what was not stored; StoreError.
    """
    if what == "runs" and isinstance(found, Verdict):
        return _runs(found, store)
    if what == "differences":
        differences = (
            found.differences if isinstance(found, Verdict) else [each.difference for each in found.benchmarks]
        )
        names = ("name", "reference", "estimate", "low", "high", "answer", "p_value", "pairs", "detectable")
        return {name: [_plain(getattr(each, name)) for each in differences] for name in names}
    if what == "programs":
        return _programs(found)
    raise UsageError(f"There are the columns of programs, differences and runs, not of {what!r}.")


def data_frame(found: Verdict | StoredComparison, what: str = "programs", *, store: str | None = None) -> DataFrame:
    """The same as a pandas DataFrame. Raises UsageError where pandas is not installed, and as `columns` does."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise UsageError(f"Data frames need pandas: {install('pandas')}. Or take becalm.columns.") from None
    return cast("DataFrame", pandas.DataFrame(dict(columns(found, what, store=store))))


def _programs(found: Verdict | StoredComparison) -> Columns:
    if isinstance(found, StoredComparison):
        names = ("name", "unit", "old", "new", "old_runs", "new_runs", "old_sittings", "new_sittings", "shift")
        return {name: [getattr(each, name) for each in found.benchmarks] for name in names}
    intervals = ("mean_ns", "median_ns", "cv")
    plain = ("name", "runs", "failed", "sd_ns", "min_ns", "max_ns", "user_ns", "system_ns", "wait_ns", "max_rss_bytes")
    made: dict[str, list[Any]] = {name: [getattr(each, name) for each in found.summaries] for name in plain}
    for name in intervals:
        for end, called in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
            # Of imported runs wall times may be unknown.
            made[called] = [getattr(getattr(each, name), end, None) for each in found.summaries]
    return made


def _runs(found: Verdict, store: str | None) -> Columns:
    if found.study is None:
        raise UsageError("These runs were not kept (--no-store), so there are none to read.")
    document = stored(found.study, store)
    names = [each.name for each in document.study.workloads]
    runs = list(document.runs)
    return {
        "program": [names[run.workload] for run in runs],
        **{name: [getattr(run, name) for run in runs] for name in COLUMNS},
    }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value
