"""Files of timed regions that no clock would write, whole and damaged: imported and shown, or refused in a sentence.

`fuzz/src/regions.rs` does the same with the crate's reader.
"""

import contextlib
import io
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.property.fuzz.command_line import output_of
from tests.property.fuzz.edits import examples
from tests.unit.files import region_files

import becalm
from becalm.errors import BecalmError, StoreError, UsageError
from becalm.files import region_codec as codec
from becalm.report import forms
from becalm.report.formats import FORMATS
from becalm.study.stored import stored
from becalm.verbs import records

EDGES = (0, 1, 49, 50, 2_000, 2**31, 2**53 + 1, 2**62, 2**63 - 1)
COUNTS = st.one_of(st.sampled_from((*EDGES, 2**63, 2**64 - 1)), st.integers(0, 2**64 - 1))
TICKS = st.one_of(st.sampled_from((*EDGES, -1, -(2**63))), st.integers(-(2**63), 2**63 - 1), st.integers(1_900, 2_100))
NUMBERS = st.one_of(
    st.sampled_from((0.0, 1.0, 2.0, 1e12, 5e-324, 1e308, -1.0, float("nan"), float("inf"))), st.floats()
)
SHORT = st.integers(0, 0xFFFF)
NAMES = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), max_size=4)
RECORD = st.tuples(
    COUNTS, TICKS, st.one_of(st.integers(0, 3), SHORT), SHORT, SHORT, st.one_of(st.integers(0, 7), SHORT)
)


@st.composite
def whole(draw):
    """Draw a file whose checksums are right: mostly with a possible clock, and with any records."""
    hz = draw(st.one_of(st.sampled_from((1.0, 24e6, 2e9, 1e12)), NUMBERS))
    quantum = draw(st.one_of(st.sampled_from((0.0, 2.0, 26.0)), NUMBERS))
    names = draw(NAMES)
    moment = {"ticks": draw(COUNTS), "unix_ns": draw(st.one_of(st.just(1_700_000_000_000_000_000), COUNTS))}
    head = region_files.header(names, hz=hz, quantum=quantum, flags=draw(st.integers(0, 15)), **moment)
    data = head
    for _ in range(draw(st.integers(0, 3))):
        # The same records many times over: as many as it takes to look for outliers.
        drawn_records = draw(st.lists(RECORD, max_size=8)) * draw(st.sampled_from((1, 1, 30)))
        first, dropped = draw(COUNTS), draw(st.one_of(st.just(0), COUNTS))
        data += region_files.block(drawn_records, first, draw(COUNTS), dropped, draw(st.booleans()))
    if draw(st.booleans()):
        data += region_files.closing(draw(st.integers(0, 2**32 - 1)), draw(COUNTS), draw(COUNTS), draw(COUNTS)) + head
    return data


@st.composite
def damaged(draw, files):
    """Draw a file with some bytes flipped, cut out, doubled or made up."""
    data = bytearray(draw(files))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        piece = data[begin : begin + draw(st.integers(0, 200))]
        new = draw(
            st.one_of(st.just(b""), st.just(bytes(piece) * 2), st.binary(max_size=60), st.just(region_files.FIRST))
        )
        data[begin : begin + len(piece)] = new
    return bytes(data)


ANY = st.one_of(whole(), damaged(st.one_of(st.just(region_files.SMALL), whole())), st.binary(max_size=300))


@examples(40, 1000)
@given(ANY)
def test_every_byte_is_of_a_whole_piece_or_counted_as_damaged(data):
    parts = codec.parts(io.BytesIO(data))
    result = list(parts)
    assert sum(len(row.data) for row in result) + parts.damage.bytes == len(data)
    assert all(row.records == codec.records_of(row.data) for row in result)
    assert (parts.damage.places == 0) == (parts.damage.bytes == 0)


@examples(12, 500)
@given(ANY)
def test_a_file_is_imported_and_shown_or_refused(data):
    check(data, ("--json",), ("--markdown",))


@examples(3, 100)
@given(whole())
def test_a_page_is_drawn_of_any_lengths(data):
    check(data, page=True)


def check(data, *ways, page=False):
    """Import it, and use what was imported in every way."""
    with tempfile.TemporaryDirectory() as scratch:
        path, store = Path(scratch) / "x.regions", f"{scratch}/runs.db"
        path.write_bytes(data)
        number, refusal = 0, ""
        try:
            number = becalm.import_regions(path, store, t_diff="5ns")
        except (UsageError, StoreError) as error:
            refusal = str(error)
        assert number or refusal.endswith(".")
        if refusal:
            return
        for more in ((), *ways):
            assert "defect" not in output_of("show", str(number), "--store", store, *more)
        assert "defect" not in output_of("list", "--store", store)
        assert "defect" not in output_of("compare", "--regions", str(path), str(number), "--store", store)
        document = stored(number, store)
        for row in FORMATS:
            if row.name != "html":
                with contextlib.suppress(BecalmError):
                    assert records.written(document, row)
        if page:
            with contextlib.suppress(BecalmError):
                assert "<main>" in forms.as_html(becalm.show(number, store).verdict)
