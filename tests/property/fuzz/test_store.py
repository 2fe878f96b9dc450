"""Stores damaged at any byte: `list`, `show` and `export` report it in a sentence, and no value is a changed one."""

import contextlib
import functools
import random
import sqlite3
import tempfile
from pathlib import Path

import pytest
from tests.property.fuzz.command_line import output_of
from tests.samples import samples

import becalm
from becalm.errors import BecalmError
from becalm.study.stored import stored

PARTS = 4
COPIES = samples(20, 500) // PARTS


@functools.cache
def whole():
    """Return the bytes of a store with a study of each kind that a simulated machine can run, and the runs of each."""
    with tempfile.TemporaryDirectory() as scratch:
        store = f"{scratch}/runs.db"
        common = {"host": "sim:normal", "seed": 1, "store": store}
        becalm.run("spin 1s", runs=40, **common)
        becalm.compare(["spin 1s", "spin 2s"], runs=20, **common)
        becalm.tune(["spin 1s"], **{**common, "host": "sim:laptop-a"}, budget="10s")
        with contextlib.closing(sqlite3.connect(store)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode=DELETE")
        runs = {number: {run.seq: run for run in stored(number, store).runs} for number in (1, 2, 3)}
        return Path(store).read_bytes(), runs


def damaged(data, rng):
    """Return a copy with one to four places flipped, overwritten, emptied, moved or cut off."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(out))
        match rng.choice(["bit", "bit", "digit", "bytes", "page", "moved", "cut"]):
            case "bit":
                out[place] ^= 1 << rng.randrange(8)
            case "digit":
                # In a text that stays a text: numbers, names and words of JSON.
                out[place] = rng.choice(b'0189-e."}]nA ')
            case "bytes":
                out[place : place + 16] = rng.randbytes(len(out[place : place + 16]))
            case "page":
                page = place // 4096 * 4096
                out[page : page + 4096] = bytes(len(out[page : page + 4096]))
            case "moved":
                other = rng.randrange(len(out))
                out[place : place + 40] = out[other : other + len(out[place : place + 40])]
            case "cut" if len(out) > 4096:
                del out[max(place, 4096) :]
    return bytes(out)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_store_is_reported_in_sentences_and_changes_no_value(part, tmp_path):
    data, runs = whole()
    for seed in range(part, COPIES * PARTS, PARTS):
        store = tmp_path / f"{seed}.db"
        store.write_bytes(damaged(data, random.Random(seed)))
        assert "defect" not in output_of("list", "--store", str(store)), seed
        for number in runs:
            for words in (("show",), ("show", "--json"), ("export", "--format", "csv", "--to", str(tmp_path / "csv"))):
                assert "defect" not in output_of(*words, str(number), "--store", str(store)), (seed, number)
            with contextlib.suppress(BecalmError):
                for run in stored(number, str(store)).runs:
                    assert runs[number][run.seq] == run, (seed, number)
        store.unlink(missing_ok=True)
