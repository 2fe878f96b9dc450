"""The cpio archive, read by cpio(1)."""

import os
import subprocess

import pytest
from tests.support.cpio_archive import build_archive, entries


@pytest.mark.needs("cpio")
def test_cpio_reads_it_and_unpacks_the_same(tmp_path):
    def write(cpio):
        cpio.directory("/d")
        for size in range(9):
            cpio.data(f"/d/{'n' * size}{size}", bytes(range(size)))
        cpio.link("/d/l", "0")

    data, _ = build_archive(write)
    listed = subprocess.run(["cpio", "-t", "--quiet"], input=data, capture_output=True, check=True).stdout.split()
    assert [os.fsdecode(line) for line in listed] == list(entries(data))
    subprocess.run(["cpio", "-i", "--quiet"], input=data, cwd=tmp_path, check=True)
    assert (tmp_path / "d/nnnnn5").read_bytes() == bytes(range(5))
    assert os.readlink(tmp_path / "d/l") == "0"
