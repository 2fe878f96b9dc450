"""Columns of numbers and text in a Parquet file, for tables of many rows.

`write(columns, file)` chooses each column's type by its values; an unknown value is null. Only this module imports
pyarrow, which writes the file, and only when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from becalm.errors import UsageError, install


def import_pyarrow() -> Any:
    """Return the module pyarrow. Raises UsageError where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            f"Parquet needs pyarrow, which is not installed: {install('pyarrow')}. Or write a .csv file."
        ) from None
    return pyarrow


def write(columns: Mapping[str, Sequence[Any]], file: BinaryIO, floats: frozenset[str] = frozenset()) -> None:
    """Write columns of one length. `floats`: the columns of floating-point numbers, whatever they contain.

    Raises UsageError without pyarrow, and OSError.
    """
    arrow = import_pyarrow()
    import pyarrow.parquet

    def kind(name: str, column: Sequence[Any]) -> Any:
        known = [value for value in column if value is not None]
        if known and all(isinstance(value, bool) for value in known):
            return arrow.bool_()
        if any(isinstance(value, str) for value in known):
            return arrow.string()
        return arrow.float64() if name in floats or any(isinstance(value, float) for value in known) else arrow.int64()

    arrays = {name: arrow.array(column, type=kind(name, column)) for name, column in columns.items()}
    pyarrow.parquet.write_table(arrow.table(arrays), file)
