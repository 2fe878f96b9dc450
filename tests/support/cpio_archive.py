"""cpio archives: written by becalm, and read back by our own reader of the format."""

import io
import os

from becalm.hosts.guest.initramfs import Cpio


def entries(data):
    """Name to (mode, uid, gid, mtime, contents), after buffer-format.rst."""
    result, at = {}, 0
    while True:
        assert data[at : at + 6] == b"070701"
        assert at % 4 == 0
        fields = [int(data[at + 6 + 8 * index : at + 14 + 8 * index], 16) for index in range(13)]
        _, mode, uid, gid, _, time, size, *_, length, check = fields
        name = data[at + 110 : at + 110 + length]
        assert name.endswith(b"\0")
        assert check == 0
        at = -(-(at + 110 + length) // 4) * 4
        contents = data[at : at + size]
        assert len(contents) == size
        at = -(-(at + size) // 4) * 4
        if name == b"TRAILER!!!\0":
            assert at == len(data)
            return result
        assert name not in result, "no entry comes twice"
        result[os.fsdecode(name[:-1])] = (mode, uid, gid, time, contents)


def build_archive(write):
    file = io.BytesIO()
    cpio = Cpio(file)
    write(cpio)
    cpio.end()
    return file.getvalue(), cpio
