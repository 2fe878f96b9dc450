"""becalm_regions.h compiles as C without a warning, what it writes is read back, and the example's file is imported.

The same checks for C++ and Rust are in tests/system/clock.
"""

import io
import stat
import subprocess

import pytest
from tests.contract.clock.test_clock_header import C99, CRATE, compiled

import becalm
from becalm.files import region_codec as codec
from becalm.verbs.regions import this_machine

pytestmark = pytest.mark.needs("cc")


def pieces(path):
    """Return the header and the blocks of a file of regions."""
    read = codec.parts(io.BytesIO(path.read_bytes()))
    events = list(read)
    assert read.damage.none
    return codec.header(events[0].data), [codec.block(event.data) for event in events if event.kind == "block"]


def check_file(compiler, tmp_path):
    """Compile a program that writes files of regions, and read them back."""
    program = compiled(compiler, CRATE / "tests/regions.c", tmp_path / "regions")
    written, other = tmp_path / "written", tmp_path / "other"
    # The second time it replaces what the first one wrote.
    for _ in range(2):
        code = subprocess.run([program, written, other], check=False).returncode
        if code == 77:
            pytest.skip("no clock of this processor can be used")
        assert code == 0
    assert other.read_text() == "my thesis"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    header, blocks = pieces(written)
    assert header.names == ("even", "odd")
    assert header.hz > 0
    facts = [(block.thread, block.first, block.dropped, block.keeps_last, len(block.records)) for block in blocks]
    assert facts == [
        (9, 0, 3, False, 512), (9, 512, 0, False, 512), (9, 1024, 0, False, 176), (10, 1200, 4, True, 10),
        (11, 1210, 4, False, 0),
    ]  # fmt: skip
    first = blocks[0].records
    assert first["start"][:3].tolist() == [10_000, 11_000, 12_000]
    assert first["ticks"][5:12].tolist() == [905, 906, 907, -3, 10, 910, 911]
    assert first["flags"][5:12].tolist() == [0, 0, codec.MIGRATED, codec.OUT_OF_STEP, codec.SHORTER_THAN_COST, 0, 0]
    assert first["name"][:4].tolist() == [0, 1, 0, 1]
    assert first["began_on"][0] in (5, codec.UNKNOWN_CPU)
    assert blocks[3].records["ticks"].tolist() == list(range(1_004, 1_014))


def test_regions_that_the_header_writes_are_read_back(tmp_path):
    check_file(C99, tmp_path)


def check_import(path, many):
    """Import a file of the example: it holds what that times, and is shown."""
    header, blocks = pieces(path)
    assert sum(len(block.records) for block in blocks) == sum(many.values())
    (number,) = becalm.import_(path)
    verdict = becalm.show(number).verdict
    assert {region.name: region.regions for region in verdict.regions} == many
    assert verdict.machine == header.machine == this_machine()


def check_example(compiler, source, many, tmp_path):
    """Compile and run an example that writes a file of regions, and import that."""
    program = compiled(compiler, CRATE / "examples" / source, tmp_path / "regions")
    done = subprocess.run([program, tmp_path / "x.regions"], capture_output=True, text=True, check=False)
    if done.returncode == 1:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    check_import(tmp_path / "x.regions", many)


def test_the_file_of_the_example_is_imported(tmp_path, own_directories):
    check_example(C99, "regions.c", {"sum": 20_000, "copy": 20_000}, tmp_path)


def test_processes_that_write_one_name_at_once_lose_nothing(tmp_path):
    program = compiled(C99, CRATE / "tests/shared.c", tmp_path / "shared")
    done = subprocess.run([program, tmp_path / "a.regions", "4"], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("no clock of this processor can be used")
    assert done.returncode == 0
    paths = sorted(tmp_path.glob("a*.regions"))
    assert sorted(done.stdout.split()) == [str(path) for path in paths]
    assert [sum(len(block.records) for block in pieces(path)[1]) for path in paths] == [1_000] * 4
    # A later run replaces what ended before it.
    again = subprocess.run([program, tmp_path / "a.regions", "1"], capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(tmp_path / "a.regions")


def test_names_have_the_process_and_the_rank_in_them(tmp_path):
    program = compiled(C99, CRATE / "tests/shared.c", tmp_path / "shared")
    name = tmp_path / "b.%r.%p.regions"
    done = subprocess.run([program, name, "1"], env={"PMI_RANK": "7"}, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("no clock of this processor can be used")
    (path,) = tmp_path.glob("b.7.*.regions")
    assert pieces(path)[0].process == int(path.name.split(".")[2])
