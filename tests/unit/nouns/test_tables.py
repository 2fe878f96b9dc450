"""The engine's tables, as the package has them."""

import pytest

from becalm.errors import MachineError
from becalm.nouns import tables


def test_every_row_fits_its_type_and_has_a_name_of_its_own():
    for table in (tables.load_columns(), tables.run_columns(), tables.sources()):
        names = [row.name for row in table]
        assert len(set(names)) == len(names) > 10


def test_kernels_say_what_is_known_of_them():
    kernels = {row.name: row for row in tables.built_in_kernels()}
    assert kernels["triad"].pressure > kernels["chase"].pressure > kernels["float"].pressure == 0
    assert kernels["chase"].sensitivity > kernels["triad"].sensitivity > kernels["float"].sensitivity == 0
    assert all(row.what and row.why and row.parameters for row in kernels.values())


def test_every_load_column_is_of_a_source_that_there_is():
    known = {source.name for source in tables.sources()} | {"agent", "taskstats", "group", "counters"}
    assert {column.source for column in tables.load_columns()} <= known


def test_a_tree_that_was_not_built_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "FILE", tmp_path / "tables.json")
    with pytest.raises(MachineError, match="make build"):
        tables.rows("load_columns")
