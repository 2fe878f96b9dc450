"""An account of finished runs: none is lost when becalm dies, by the store and a log that the program itself writes.

The program writes a line as it begins. A run is finished, for becalm, when the next one has begun: so all but the last
must be in the store. Of the last nobody can say it: it may have been ended.
"""

from __future__ import annotations

from becalm.store import Store

MARK = "+one+"
"""The mark that the program writes, which nothing else in the log resembles."""


def begun(log) -> int:
    """Return the number of runs that have begun; 0 while there is no log, which may be replaced."""
    try:
        return log.read_bytes().count(MARK.encode())
    except FileNotFoundError:
        return 0


def stored(store: str, study: int = 1) -> tuple[int, int]:
    """Return the number of stored runs that ended well, and of all."""
    with Store.open(store) as opened:
        rows = list(opened.runs(study))
    assert [run.seq for run in rows] == list(range(len(rows))), "without a gap, each once"
    assert {run.outcome for run in rows} <= {"ok", "aborted"}
    return sum(run.outcome == "ok" for run in rows), len(rows)


def count_stored_runs(store: str, study: int = 1) -> int:
    """Return the number of stored runs that ended well."""
    return stored(store, study)[0]


def nothing_lost(log, store: str, study: int = 1) -> None:
    """Check that every finished run is in the store, and none that never began.

    One more may have begun than are stored: that which was running. An aborted one may not have begun.
    """
    good, runs = stored(store, study)
    assert good <= begun(log) <= runs + 1, f"{good} of {runs} stored runs ended well, {begun(log)} have begun"
