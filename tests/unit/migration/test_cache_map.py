"""CPUs that share a last-level cache: as it is typed, and by the header of a perf.data."""

import struct

import pytest

from becalm.errors import UsageError
from becalm.migration import cache_map


@pytest.mark.parametrize(
    ("text", "caches"),
    [
        ("0-3,4-7", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("0,1", [[0], [1]]),
        ("0-1,4;2-3,5", [[0, 1, 4], [2, 3, 5]]),
        ("0-1", [[0, 1]]),
    ],
)
def test_lists_of_cpus_are_caches(text, caches):
    assert cache_map.typed(text) == caches


@pytest.mark.parametrize("text", ["", ";", "a-b", "0-3,3-5", "384K"])
def test_invalid_lists_of_caches_are_refused(text):
    with pytest.raises(UsageError):
        cache_map.typed(text)


def string(text):
    """Return a string as perf writes it: padded to 64 bytes, its length with the padding."""
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 64)
    return struct.pack("<I", len(data)) + data


def header(caches, feature=20):
    """Return a file of perf's with one feature besides the host's name: levels and CPUs of caches."""
    numbers = [struct.pack("<4I", level, 64, 64, 8) for level, _ in caches]
    texts = [string("Unified") + string("32K") + string(cpus) for _, cpus in caches]
    rows = [first + rest for first, rest in zip(numbers, texts, strict=True)]
    section, name = struct.pack("<II", 1, len(rows)) + b"".join(rows), string("host")
    at = 104 + 2 * 16
    table = struct.pack("<4Q", at, len(name), at + len(name), len(section))
    features = [1 << 3 | 1 << feature, 0, 0, 0]
    return struct.pack("<8s8Q4Q", b"PERFILE2", 104, 136, 104, 0, 104, 0, 0, 0, *features) + table + name + section


def test_the_header_of_perf_data_names_the_caches(tmp_path):
    path = tmp_path / "perf.data"
    levels = [(1, "0"), (1, "1"), (2, "0-1"), (3, "0-1"), (3, "2-3"), (3, "2-3")]
    path.write_bytes(header(levels))
    assert cache_map.of_perf_data(path) == [[0, 1], [2, 3]]
    path.write_bytes(header(levels, feature=21))
    assert cache_map.of_perf_data(path) == []


def test_a_header_that_is_cut_names_none(tmp_path):
    path, whole = tmp_path / "perf.data", header([(3, "0-1")])
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        assert cache_map.of_perf_data(path) in ([], [[0, 1]])
    assert cache_map.of_perf_data(tmp_path / "none") == []
