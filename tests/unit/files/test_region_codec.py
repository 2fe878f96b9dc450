"""The reader of files of regions, on a small file made by hand that the crate's reader has, too, cut at each byte and
flipped at each bit; and on large ones."""

import io
import random
import types
import zlib

import numpy as np
import pytest
from tests.places import ROOT
from tests.unit.files import region_files

from becalm.files import region_codec as codec

VECTOR = ROOT / "crates/becalm-clock/tests/vectors/small.regions"


def read(data):
    parts = codec.parts(io.BytesIO(data))
    return list(parts), parts.damage


def blocks(parts):
    return [codec.block(part.data) for part in parts if part.kind == "block"]


def test_both_readers_are_tested_with_the_same_file():
    assert VECTOR.read_bytes() == region_files.SMALL


def test_a_file_made_by_hand():
    parts, damage = read(region_files.SMALL)
    assert damage.none
    assert [(part.kind, part.records) for part in parts] == [
        ("header", 0), ("block", 3), ("block", 3), ("closing", 0), ("header", 0),
    ]  # fmt: skip
    head = codec.header(parts[0].data)
    assert head == codec.RegionHeader(
        2e9, 1.5, 2.0, 50, 60, 1_000_000, 1_700_000_000_000_000_000, 6, 4321, "0123456789abcdef", "a-boot",
        "A Processor", "rdtscp;lfence", ("parse", "größe"), 0.0,
    )  # fmt: skip
    assert head.ns(400) == 200
    first, second = blocks(parts)
    assert first.records.tolist() == [
        (1_000_100, 400, 0, 0, 0, 0), (1_001_000, 10_000, 1, 1, 0, codec.MIGRATED),
        (1_020_000, 40, 0, 0, 0, codec.SHORTER_THAN_COST),
    ]  # fmt: skip
    assert second.records["ticks"].tolist() == [402, -8, 600]
    assert second.records["flags"].tolist() == [0, codec.MIGRATED | codec.OUT_OF_STEP, 0]
    assert second.records["began_on"][2] == codec.UNKNOWN_CPU
    assert (second.thread, second.first, second.dropped, second.keeps_last) == (3, 3, 17, True)
    assert (first.thread, first.dropped, first.keeps_last) == (0, 0, False)
    assert codec.closing(parts[3].data) == codec.Closing(2, 2_000_000_000, 1_700_000_001_000_000_000, 6)


def test_a_file_that_is_cut_keeps_its_whole_blocks():
    for cut in range(len(region_files.SMALL)):
        parts, damage = read(region_files.SMALL[:cut])
        assert len(blocks(parts)) == sum(cut >= end for end in region_files.ENDS[1:3]), cut
        assert any(part.kind == "header" for part in parts) == (cut >= region_files.ENDS[0]), cut
        assert damage.open == (cut < region_files.ENDS[3]), cut
        assert damage.none == (cut == region_files.ENDS[3]), cut


def test_a_flipped_bit_costs_the_piece_that_it_is_in():
    whole = [document.data for document in read(region_files.SMALL)[0]]
    ends = [*region_files.ENDS, len(region_files.SMALL)]
    for bit in range(8 * len(region_files.SMALL)):
        data = bytearray(region_files.SMALL)
        data[bit // 8] ^= 1 << bit % 8
        parts, damage = read(bytes(data))
        hit = next(index for index, end in enumerate(ends) if bit // 8 < end)
        left = whole[:hit] + whole[hit + 1 :]
        if hit == 3:
            # The second header is only known behind what closes the file.
            left = left[:3]
        assert [part.data for part in parts] == left, bit
        assert damage.lost == (3 if hit in (1, 2) else 0), bit
        assert not damage.none, bit
        assert damage.header == (hit == 0)
        assert damage.open == (hit == 3)
        # What is damaged is one place, however many bytes of it look like a mark.
        assert damage.places == 1


def test_damage_between_is_skipped_whatever_is_in_it():
    rng = random.Random(1)
    for noise in (b"RBLK" * 50, b"REND", region_files.header()[:40], rng.randbytes(3_000_000), region_files.FIRST[:60]):
        parts, damage = read(
            region_files.header()
            + region_files.FIRST
            + noise
            + region_files.SECOND
            + region_files.closing(2, 6)
            + region_files.header()
        )
        assert [part.kind for part in parts] == ["header", "block", "block", "closing", "header"]
        assert (damage.bytes, damage.places, damage.lost) == (len(noise), 1, 0)


@pytest.mark.parametrize("data", [b"", b"x", b"\x89BRG\r\n\x1a\n", b"\x00" * 5_000_000, b"RBLK" + b"\xff" * 100])
def test_other_files_have_no_pieces(data):
    parts, damage = read(data)
    assert parts == []
    assert damage.header
    assert damage.open
    assert damage.bytes == len(data)


def test_a_large_file_is_read_in_pieces():
    records = region_files.regions(np.arange(100, 200_100))
    parts, damage = read(region_files.file(records))
    assert damage.none
    assert np.concatenate([block.records for block in blocks(parts)]).tolist() == records.tolist()


def test_pieces_within_each_other_take_no_more_time_than_others(monkeypatch):
    """Whole heads, each of which says that the next MB and a half are its records: as many checksums would be taken."""
    summed = []
    counting = types.SimpleNamespace(crc32=lambda data: summed.append(len(data)) or zlib.crc32(data))
    monkeypatch.setattr(codec, "zlib", counting)
    nested = region_files.head(b"RBLK", 65_536, (0, 0, 0), records=b"x") * 3_000 + bytes(2_000_000)
    parts, damage = read(
        region_files.header() + nested + region_files.FIRST + region_files.closing(1, 3) + region_files.header()
    )
    assert sum(summed) < 100e6
    assert [part.kind for part in parts] == ["header", "block", "closing", "header"]
    assert (damage.bytes, damage.places) == (len(nested), 1)


def test_marks_without_end_are_skipped_one_by_one():
    noise = b"RBLK\x89BRG\r\n\x1a\nREND" * 5_000
    parts, damage = read(region_files.header() + noise + region_files.SECOND)
    assert [part.kind for part in parts] == ["header", "block"]
    assert damage.bytes == len(noise)


class Watched(io.BytesIO):
    """A file that notes how much is read at a time."""

    largest = 0

    def read(self, size=-1):
        assert size > 0, "all of it would be read"
        self.largest = max(self.largest, size)
        return super().read(size)


def test_memory_is_bounded_by_the_block():
    file = Watched(region_files.file(region_files.regions(np.full(300_000, 400))))
    for _ in codec.parts(file):
        pass
    assert file.largest <= 2 << 20
