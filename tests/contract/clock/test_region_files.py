"""becalm_regions.h compiles as C and C++ without a warning, what it writes is read back, and the examples' files are
imported: C, C++ and Rust."""

import io
import stat
import subprocess

import pytest
from tests.contract.clock.test_clock_header import CRATE, LANGUAGES, compiled
from tests.places import ROOT

import becalm
from becalm.nouns import region_codec as codec
from becalm.verbs.regions import this_machine

pytestmark = pytest.mark.needs("cc", "g++")


def pieces(path):
    read = codec.parts(io.BytesIO(path.read_bytes()))
    found = list(read)
    assert read.damage.none
    return codec.header(found[0].data), [codec.block(each.data) for each in found if each.kind == "block"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_header_writes_is_read_back(language, tmp_path):
    program = compiled(language, CRATE / "tests/regions.c", tmp_path / "regions")
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
    assert header.hz > 1e6
    facts = [(each.thread, each.first, each.dropped, each.keeps_last, len(each.records)) for each in blocks]
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


EXAMPLES = {
    "C": (("cc", "-std=gnu99", "regions.c"), {"sum": 20_000, "copy": 20_000}),
    "C++": (("g++", "-std=c++11", "-pthread", "regions.cpp"), {"sort": 10_000, "fill": 10_000}),
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of its own, and no evaluation of timers beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "runs.db"))


def check(path, many):
    """The file holds what the example times, and is imported and shown."""
    header, blocks = pieces(path)
    assert sum(len(each.records) for each in blocks) == sum(many.values())
    (number,) = becalm.import_(path)
    found = becalm.show(number).verdict
    assert {each.name: each.regions for each in found.regions} == many
    assert found.machine == header.machine == this_machine()


@pytest.mark.parametrize("language", EXAMPLES)
def test_the_example_s_file_is_imported(language, tmp_path, store):
    (*command, source), many = EXAMPLES[language]
    program = tmp_path / "regions"
    include = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}")
    subprocess.run([*command, *include, CRATE / "examples" / source, "-o", program], check=True)
    done = subprocess.run([program, tmp_path / "x.regions"], capture_output=True, text=True, check=False)
    if done.returncode == 1:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "x.regions", many)


def test_the_example_in_rust_is_imported(tmp_path, store):
    asked = ["cargo", "run", "-q", "--locked", "-p", "becalm-clock", "--features", "std", "--example", "regions", "--"]
    subprocess.run([*asked, tmp_path / "x.regions"], cwd=ROOT, check=True, capture_output=True)
    check(tmp_path / "x.regions", {"sum": 20_000, "sort": 20_000})
