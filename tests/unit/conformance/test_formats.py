"""Promises of every file format, over the table of formats: one more row is one more run of these tests."""

import csv
import io
import json

import pytest
from markdown_it import MarkdownIt
from msgspec import structs
from tests.directories import use_directories
from tests.support.load_examples import LOADS, SERIES
from tests.support.page_elements import Page
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.errors import UsageError
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats import FORMATS, read
from becalm.study.stored import stored
from becalm.verbs import KINDS
from becalm.verbs.records import export, import_, written

HOSTILE = (
    "<script>alert(1)</script>",
    "a | b `c` *d* [e](http://f) & g",
    "--flag 'quoted' \"twice\" back\\slash",
    "=HYPERLINK(1)",
    "two\nlines\tand a tab",
    "\x1b[31mred\x1b]0;title\x07\x00"[:-1],
    "naïve ✗ 日本語 \u202eright to left",
    "no UTF-8: \udcff",
    "x" * 2000,
)  # fmt: skip


def run(seq, workload=0, round=0, wall_ns=20_000_000, **changed):
    known = Run(seq, workload, 0, round, 7, 10**18 + seq, wall_ns, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)
    return known._replace(**changed)


def document(runs, names=("spin 20ms",), kind="run", **changed):
    study = Study(kind, tuple(Workload(argv=("x",), name=name) for name in names), seed=7)
    return Document(study, runs, facts={"host": {"hostname": "h"}}, created_ns=5, becalm="0.1.0", **changed)


def rounds(programs, many):
    order = [(index, program) for index in range(many) for program in range(programs)]
    return [run(seq, program, index, 20_000_000 + 1_000 * seq) for seq, (index, program) in enumerate(order)]


FAILED = [run(seq, round=seq, outcome=outcome) for seq, outcome in enumerate(list(Outcome)) if outcome != "ok"]

EDGES = {
    "one run": document([run(0)]),
    "no runs": document([]),
    "warm-ups alone": document([run(0, round=-2), run(1, round=-1)]),
    "failed runs alone": document(FAILED, texts={1: ("boom ✗", "out")}),
    "failed among good ones": document([*rounds(1, 9), *(case._replace(seq=20 + case.seq) for case in FAILED)]),
    "one of two has no good run": document([*rounds(1, 9), run(9, 1, outcome="failed")], ("a", "b"), "compare"),
    "several programs": document(rounds(4, 9), ("a", "b", "c", "d"), "compare"),
    "two of one name": document(rounds(2, 9), ("a", "a"), "compare"),
    "several settings": structs.replace(
        document([run(0), run(1, settings=1)]),
        study=Study("run", (Workload.of("a"),), (Settings(), Settings.of({"nice": 1, "aslr": "off"}))),
    ),
    "times of nothing and of years": document([run(0, wall_ns=0), run(1, round=1, wall_ns=10**17 + 1)]),
    "unknown is unknown": document([run(0, user_ns=None, max_rss_bytes=None, status=None, wait_ns=None)]),
    "load over time": document([run(seq, round=seq) for seq in range(6)], loads=LOADS, series=[SERIES]),
    **{f"a name {text[:12]!a}": document(rounds(1, 9), (text,)) for text in HOSTILE},
    "names of all kinds": document(rounds(len(HOSTILE), 9), HOSTILE, "compare"),
    **{f"{kind} of no runs": document([], kind=kind) for kind in KINDS},
    **{f"{kind} without a verdict": document(rounds(1, 9), kind=kind) for kind in KINDS},
}

MEASURED = {
    "run": lambda _: becalm.run("spin 20ms", host="sim:drift", runs=20, seed=1),
    "compare": lambda _: becalm.compare(["spin 20ms", "spin 21ms"], host="sim:drift", runs=20, seed=1),
    "tune": lambda _: becalm.tune(
        ["spin 1s"], host="sim:laptop-a", seed=3, budget="10min", method="fast", confirm_loops=2
    ),
    "survey": lambda _: becalm.survey([f"sim:normal:{n}" for n in range(3)], "spin 20ms", kernels=(), loops=5, runs=2),
    "watch": lambda _: becalm.watch("spin 20ms", host="sim:drift", seed=1),
    "suite": lambda file: becalm.suite(str(file), host="sim:drift", runs=3, seed=1, copies=1),
}
"""Studies as the verbs make them; of kinds that need a real machine there are those above."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Stored studies, one of each kind that a simulated machine can make, by kind."""
    path = tmp_path_factory.mktemp("measured")
    (path / "suite.toml").write_text('[[program]]\nname = "a"\ncommand = "spin 20ms"\nreference = "30ms"\n')
    with pytest.MonkeyPatch.context() as patch:
        use_directories(patch, path)
        for make in MEASURED.values():
            make(path / "suite.toml")
        studies = becalm.list_studies(limit=None).studies
        yield {study.study.kind: stored(study.number) for study in studies}


@pytest.fixture(params=FORMATS, ids=lambda row: row.name)
def row(request):
    return request.param


@pytest.fixture(params=[row for row in FORMATS if row.reads], ids=lambda row: row.name)
def readable(request):
    """A format that is read back."""
    return request.param


# --- what a text says it is -------------------------------------------------------------------------------------------


def as_json(text):
    def refused(word):
        raise AssertionError(f"{word} is not JSON")

    json.loads(text, parse_constant=refused)


def as_csv(text):
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert all(len(row) == len(head) for row in rows)


def as_markdown(text):
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert tokens
    assert not [token for token in tokens if token.type == "html_block"]
    inline = [child for token in tokens for child in token.children or ()]
    assert not [match for match in inline if match.type in ("html_inline", "link_open", "image")]
    rows = [token.map for token in tokens if token.type == "tr_open" and token.map]
    lines = text.splitlines()
    tables = sum(line.startswith("|") for line in lines)
    # The line below a head is no row.
    assert len(rows) + sum(token.type == "table_open" for token in tokens) == tables, "every line of a table is a row"


def as_html(text):
    page = Page(text)
    assert text.lower().startswith("<!doctype html>")
    assert not set(page.names) & {"script", "iframe", "object", "form"}
    assert all(match.startswith(("data:", "#")) for match in page.values("src", "href")), "a page needs nothing else"


KINDS_OF_TEXT = {".json": as_json, ".csv": as_csv, ".md": as_markdown, ".html": as_html}


def holds(text, row):
    """Check that a text is of the kind that its ending says, and that any terminal, file and mail can have it."""
    text.encode("utf-8")
    assert text.endswith("\n")
    KINDS_OF_TEXT[row.ending](text)
    controls = {character for character in text if ord(character) < 32 or 0x7F <= ord(character) < 0xA0} - set("\n\t\r")
    assert not controls, controls
    if not row.module:
        assert "\u202e" not in text, "what is read is what is there"


def writing(document, row):
    """Return the text; None where a study has nothing to write, which must be a sentence."""
    try:
        return written(document, row)
    except UsageError as error:
        refused = str(error)
    assert not row.module, "what a study holds can always be written"
    assert refused.endswith(".")
    return None


# --- the promises -----------------------------------------------------------------------------------------------------


def test_a_row_says_what_it_is_for(row):
    assert row.what
    assert not row.what.endswith(".")
    assert [entry.name for entry in FORMATS].count(row.name) == 1
    assert row.ending in KINDS_OF_TEXT


@pytest.mark.parametrize("case", EDGES)
def test_a_text_is_what_it_says_it_is(row, case):
    text = writing(EDGES[case], row)
    if text is None:
        assert not any(runs for _, runs in by_program(EDGES[case])) or EDGES[case].study.kind in (
            "tune",
            "suite",
            "regions",
            "corun",
        )
    else:
        holds(text, row)


@pytest.mark.parametrize("kind", MEASURED)
def test_a_study_of_every_kind_can_be_written(row, kind, measured):
    text = written(measured[kind], row)
    holds(text, row)
    assert writing(measured[kind], row) == text, "the same study is the same text"


def test_every_kind_is_tried():
    assert set(MEASURED) | {case.split()[0] for case in EDGES} >= set(KINDS)


def walls(document):
    """Return the contents that a file of only times can have: for each program with good runs its name and its times
    above zero."""
    return [
        (name, [run.wall_ns for run in runs if run.wall_ns])
        for name, runs in by_program(document)
        if any(run.wall_ns for run in runs)
    ]


IN_UTF_8 = [
    case for case, document in EDGES.items() if "\udcff" not in "".join(w.name for w in document.study.workloads)
]
"""Others are written too, but what is no UTF-8 is lost on the way."""


@pytest.mark.parametrize("case", IN_UTF_8)
def test_a_written_file_is_read_back(readable, case, tmp_path):
    document = EDGES[case]
    path = tmp_path / f"x{readable.ending}"
    path.write_text(written(document, readable), encoding="utf-8")
    (back,) = read(path)
    near = [(name, [round(time / 1e9, 9) for time in times]) for name, times in walls(back)]
    expected = [(name, [round(time / 1e9, 9) for time in times]) for name, times in walls(document)]
    if readable.name == "pyperf" and case == "two of one name":
        # pyperf refuses a file with two benchmarks of one name.
        expected = [(f"a [{place}]", times) for place, (_, times) in enumerate(expected, start=1)]
    assert near == expected
    path.write_text(written(back, readable), encoding="utf-8")
    (again,) = read(path)
    assert again == back, "nothing is lost from the second time on"


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("kind", MEASURED)
def test_a_store_takes_what_was_written(readable, kind, measured, tmp_path, store):
    path = tmp_path / f"x{readable.ending}"
    path.write_text(written(measured[kind], readable), encoding="utf-8")
    (number,) = import_(path, store)
    assert walls(stored(number, store)) == walls(measured[kind])
    assert export(number, format=readable.name, store=store)


def test_a_text_is_taken_by_one_reader(readable):
    value = json.loads(written(EDGES["several programs"], readable))
    assert [row.name for row in FORMATS if row.reads and row.reader().recognises(value)] == [readable.name]


def test_a_reader_refuses_what_is_cut_in_a_sentence(readable, tmp_path):
    text = written(EDGES["several programs"], readable)
    path = tmp_path / f"x{readable.ending}"
    for cut in range(0, len(text.rstrip()), max(1, len(text) // 50)):
        path.write_text(text[:cut])
        with pytest.raises(UsageError, match=r"x\.json"):
            read(path)
