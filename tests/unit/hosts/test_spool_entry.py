"""Notes in becalm's own spool about that of an agent elsewhere."""

import os

import pytest

from becalm.errors import MachineError
from becalm.hosts.spool_entry import write_spool_entry
from becalm.nouns.elsewhere import elsewhere


def test_a_place_takes_the_former_ones_place_and_nothing_takes_it_away(tmp_path):
    with (tmp_path / "spool").open("w+b") as file:
        write_spool_entry(file.fileno(), {"host": "a machine with a long name"}, b"a run\n")
        assert file.read() == elsewhere({"host": "a machine with a long name"}) + b"a run\n"
        write_spool_entry(file.fileno(), {"host": "b"})
        assert (tmp_path / "spool").read_bytes() == elsewhere({"host": "b"})
        write_spool_entry(file.fileno(), None)
        assert (tmp_path / "spool").read_bytes() == b""
    write_spool_entry(None, {"host": "b"})


def test_a_file_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "spool").touch()
    descriptor = os.open(tmp_path / "spool", os.O_RDONLY)
    with pytest.raises(MachineError, match="keeps finished runs safe cannot be written"):
        write_spool_entry(descriptor, {"host": "b"})
    os.close(descriptor)
