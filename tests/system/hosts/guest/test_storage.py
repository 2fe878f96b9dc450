"""A guest's disk, made by mke2fs(8)."""

from pathlib import Path

from tests.needs import need

from becalm.hosts.guest import kernel, storage
from becalm.hosts.guest.options import parse

WHOLE = kernel.Kernel("6.1", Path("/vmlinuz"), None)


def test_the_disk_is_a_file_with_holes_that_has_a_file_system_and_no_name_once_it_is_open(tmp_path):
    need(storage.MAKER)
    place = tmp_path / "a,b"
    place.mkdir()
    disk = storage.of(parse("6.1?disk=1G"), WHOLE)
    words = disk.create(place)
    name = str(place / "disk").replace(",", ",,")
    drive = f"file={name},format=raw,if=none,id=disk,cache=writeback"
    assert words == ["-drive", drive, "-device", "virtio-blk-pci,drive=disk"]
    about = (place / "disk").stat()
    assert about.st_size == 1 << 30
    assert about.st_blocks * 512 < about.st_size / 8
    with (place / "disk").open("rb") as file:
        file.seek(1080)
        assert file.read(2) == b"\x53\xef", "the magic number of ext4's superblock"
    disk.unlink(place)
    assert list(place.iterdir()) == []
