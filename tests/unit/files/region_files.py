"""Files of regions made for tests, piece by piece, by the description of the format and not by its reader or
writers."""

import struct
import zlib

import numpy as np

from becalm.files.region_codec import RECORD

UNKNOWN = 0xFFFF
COST = 50


def header(
    names=("parse", "größe"), *, hz=2e9, machine="0123456789abcdef", model="A Processor", boot="a-boot", **changed
):
    """Return a header: 88 bytes of numbers, the texts with their lengths, a checksum."""
    texts = [name.encode() for name in (machine, boot, model, "rdtscp;lfence", *names)]
    body = b"".join(struct.pack("<H", len(text)) + text for text in texts)
    usual = {"ticks": 1_000_000, "unix_ns": 1_700_000_000_000_000_000, "flags": 6, "quantum": 2.0, "mean_cost": 0}
    values = usual | changed
    packed = struct.pack(
        "<8sHHIdddqqQQIIII", b"\x89BRG\r\n\x1a\n", 1, 24, 88 + len(body) + 4, hz, 1.5, values["quantum"], COST, 60,
        values["ticks"], values["unix_ns"], values["flags"], 4321, len(names), values["mean_cost"],
    ) + body  # fmt: skip
    return packed + struct.pack("<I", zlib.crc32(packed))


def head(mark, many, values, policy=0, records=None):
    """Return the 48 bytes before the records of a block, and those that close a file."""
    packed = struct.pack("<4sIQQQIII", mark, many, *values, policy, 0 if records is None else zlib.crc32(records), 0)
    return packed + struct.pack("<I", zlib.crc32(packed))


def block(records, first=0, thread=0, dropped=0, keeps_last=False):
    """Return a block of records: tuples of start, ticks, name, began_on, ended_on, flags, or an array of RECORD."""
    data = np.array(records, RECORD).tobytes()
    return head(b"RBLK", len(data) // 24, (thread, first, dropped), int(keeps_last), data) + data


def closing(blocks, records, ticks=2_000_000_000, unix_ns=1_700_000_001_000_000_000):
    return head(b"REND", blocks, (ticks, unix_ns, records))


def regions(lengths, name=0, *, start=1_000_000, gap=2_000, cpu=0):
    """Return records of these lengths in ticks, one after the other."""
    result = np.zeros(len(lengths), RECORD)
    result["ticks"], result["name"] = lengths, name
    result["start"] = start + gap * np.arange(len(lengths), dtype=np.uint64)
    result["began_on"] = result["ended_on"] = cpu
    result["flags"] = np.where(result["ticks"] < 0, 2, np.where(result["ticks"] < COST, 4, 0))
    return result


def file(records, names=("parse", "größe"), *, many=1024, dropped=0, keeps_last=False, closed=True, **changed):
    """Return a whole file of an array of records. `closed=False`: a program that was killed left it."""
    top = header(names, **changed)
    blocks = [
        block(records[at : at + many], at, dropped=dropped if at == 0 else 0, keeps_last=keeps_last)
        for at in range(0, len(records), many)
    ]
    return top + b"".join(blocks) + (closing(len(blocks), len(records)) + top if closed else b"")


FIRST = block([(1_000_100, 400, 0, 0, 0, 0), (1_001_000, 10_000, 1, 1, 0, 1), (1_020_000, 40, 0, 0, 0, 4)])
SECOND = block(
    [(1_030_000, 402, 0, 1, 1, 0), (1_040_000, -8, 1, 0, 1, 3), (1_050_000, 600, 7, UNKNOWN, UNKNOWN, 0)],
    first=3, thread=3, dropped=17, keeps_last=True,
)  # fmt: skip
SMALL = header() + FIRST + SECOND + closing(2, 6) + header()
"""tests/vectors/small.regions of crates/becalm-clock: six regions in two blocks."""
ENDS = [len(header()), len(header()) + 120, len(header()) + 240, len(header()) + 288]
