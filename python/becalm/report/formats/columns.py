"""Columns of numbers and text in a Parquet file: what a table of many rows is kept in.

`write(columns, file)` chooses each column's kind by what is in it; unknown is null. pyarrow writes it, and is imported
only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from becalm.errors import UsageError, install


def needed() -> Any:
    """Return the module pyarrow. Raises UsageError where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            f"Parquet needs pyarrow, which is not installed: {install('pyarrow')}. Or write a .csv file."
        ) from None
    return pyarrow


def write(columns: Mapping[str, Sequence[Any]], file: BinaryIO, floats: frozenset[str] = frozenset()) -> None:
    """Write columns of one length. `floats`: those that are no whole numbers, whatever is in them.

    Raises UsageError without pyarrow, OSError.
    """
    arrow = needed()
    import pyarrow.parquet

    def kind(name: str, column: Sequence[Any]) -> Any:
        known = [each for each in column if each is not None]
        if known and all(isinstance(each, bool) for each in known):
            return arrow.bool_()
        if any(isinstance(each, str) for each in known):
            return arrow.string()
        return arrow.float64() if name in floats or any(isinstance(each, float) for each in known) else arrow.int64()

    made = {name: arrow.array(column, type=kind(name, column)) for name, column in columns.items()}
    pyarrow.parquet.write_table(arrow.table(made), file)
