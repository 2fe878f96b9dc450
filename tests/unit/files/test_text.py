"""The text of files in every encoding that people's tools write."""

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest

from becalm.errors import UsageError
from becalm.files.text import NotTextError, plain_file, read_bytes, read_text, text_of

TEXT = "name = 'ä µs'\nlast line"

ENCODED = {
    "utf-8": TEXT.encode(),
    "mark": TEXT.encode("utf-8-sig"),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be": TEXT.encode("utf-16-be"),
    "utf-16-be with mark": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "utf-32": TEXT.encode("utf-32"),
    "windows": TEXT.replace("\n", "\r\n").encode(),
    "gzip": gzip.compress(TEXT.encode("utf-16"), mtime=0),
    "bzip2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_text_is_the_same_in_every_encoding(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    assert read_text(file) == TEXT


def test_empty_files_and_single_letters_are_text() -> None:
    assert text_of(b"") == ""
    assert text_of(b"a") == "a"
    assert text_of(b"\xef\xbb\xbf") == ""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a\xe9b", "byte 0xe9 at 1"),
        (b"\x7fELF\0\0\xff", "not text"),
        (b"\xff\xfea", "UTF-16-LE and breaks"),
    ],
)
def test_bytes_that_are_not_text_are_rejected(data: bytes, why: str) -> None:
    with pytest.raises(NotTextError, match=why):
        text_of(data)


def test_legacy_bytes_are_read_as_windows_1252_where_allowed() -> None:
    assert text_of(b"1,5 \xb5s;\x80", legacy=True) == "1,5 µs;€"
    with pytest.raises(NotTextError):
        text_of(b"\xb5\0\0\0ab", legacy=True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gzip.compress(TEXT.encode(), mtime=0)[:-6], "gzip, but cut"),
        (gzip.compress(TEXT.encode(), mtime=0)[:12] + b"xxxxxxxxxxxxxxxxxxx", "gzip, but"),
        (lzma.compress(TEXT.encode())[:-6], "xz, but cut"),
        (b"\x28\xb5\x2f\xfd rest", "zstd; unpack it first"),
        (b"PK\x03\x04 rest", "workbook; unpack it first"),
    ],
)
def test_damaged_and_unknown_compression_is_named(tmp_path: Path, data: bytes, why: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=why):
        read_bytes(file)


def test_large_files_are_refused_packed_or_unpacked(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(bytes(3 << 20))
    packed.write_bytes(gzip.compress(bytes(3 << 20), mtime=0))
    for file in (plain, packed):
        with pytest.raises(UsageError, match="more than 2 MiB"):
            read_text(file, most=2 << 20)


def test_unreadable_files_are_named() -> None:
    with pytest.raises(UsageError, match=r"^The profile x cannot be read: No such file or directory\.$"):
        read_text("/nowhere/x", "The profile x")
    with pytest.raises(UsageError, match="Is a directory"):
        read_text("/")
    assert read_text("/dev/null") == ""


def test_devices_and_named_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, what in (("/dev/zero", "a device"), (tmp_path / "fifo", "a named pipe")):
        for reader in (read_text, read_bytes):
            with pytest.raises(UsageError, match=f"cannot be read: it is {what}, and not a file"):
                reader(path)
        with pytest.raises(UsageError, match=f"it is {what}"), plain_file(str(path)):
            pass


def test_a_pipe_that_a_shell_has_opened_is_read() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb") as full:
        full.write(b"one\ntwo")
        full.close()
        assert read_text(f"/dev/fd/{reading}") == "one\ntwo"
