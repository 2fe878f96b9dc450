"""One watched run: what is computed of its record, and what is said of it."""

import csv
import io
import json
import sys

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.needs import need_module
from tests.support.page_elements import Page
from tests.unit.recorded import SECOND, load, run, series

from becalm.errors import MachineError, UsageError
from becalm.load.cpu_competition import circumstances
from becalm.load.delay import Competition, Delay
from becalm.load.live import Consumer
from becalm.load.run_report import courses, plain_reference, watched
from becalm.nouns.codec import plain_dict
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats import format_row
from becalm.report.formats import series as formats
from becalm.report.watch import html, markdown, tables
from becalm.report.watch.terminal import watched as drawn
from becalm.verbs.records import written
from becalm.verbs.watch_run import conclude
from becalm.wording import watch as sentences

AROUND = Competition(3.1, 2)


def make(reference=None, the_run=None, the_load=None, the_series=None, around=AROUND):
    verdict = watched(
        the_run or run(), the_load or load(), the_series or series(), around, reference=reference, program="gzip x"
    )
    return replace(verdict, sentence=sentences.answer(verdict))


def text(report, width=80, plain=False):
    out = Console(file=io.StringIO(), width=width, color_system=None)
    out.print(drawn(report, plain=plain, columns=width))
    return out.file.getvalue()


def test_the_delay_is_of_the_runs_own_cpu_time():
    report = make()
    assert report.delay_factor == pytest.approx(2.0 / 1.2)
    assert report.delay.exact == pytest.approx(1 + 0.7 / 1.2)
    assert report.delay.mund == pytest.approx(3.1 / 2)
    assert report.waterfall["run-queue wait"].ns == 700_000_000
    assert "Most of the delay, 700.0 ms of 800.0 ms, was waiting for a CPU." in report.sentence


def test_bars_add_up_and_the_unexplained_one_is_always_there():
    for reference in (None, plain_reference(SECOND, run()), plain_reference(5 * SECOND, run())):
        report = make(reference)
        assert sum(bar.ns or 0.0 for bar in report.waterfall.bars) == pytest.approx(2 * SECOND)
        assert "unexplained" in text(report)
        assert [bar["name"] for bar in report.to_json()["bars"]][-1] == "unexplained"


def test_a_time_alone_is_a_reference_without_waits():
    report = make(plain_reference(1_100_000_000, run()))
    assert report.delay_factor == pytest.approx(2 / 1.1)
    assert report.waterfall["slower execution"].ns == pytest.approx(100_000_000)
    assert report.waterfall["run-queue wait"].ns == 700_000_000
    longer = plain_reference(1_500_000_000, run())
    assert longer.cpu_ns == 1_200_000_000, "the rest of it was no CPU time of this program"


def test_peaks_have_their_times():
    report = {course.name: course for course in make().courses}
    assert (report["queue"].mean, report["queue"].peak, report["queue"].peak_ns) == (3.1, 5.0, 0.5 * SECOND)
    write = report["disk_write"]
    assert write.peak == pytest.approx((12 << 20) / 0.1)
    assert write.peak_ns == pytest.approx(1.05 * SECOND), "the middle of its sample"
    assert write.mean == pytest.approx((12 << 20) / 2), "counted over the run, not averaged over samples"
    assert "nfs" not in report
    assert "page_in" not in report, "a minor measure that was zero"
    assert "page_out" in report


def test_without_a_series_there_are_means_and_without_a_load_nothing():
    by_name = {course.name: course for course in courses(load(), None)}
    assert (by_name["queue"].mean, by_name["queue"].peak, by_name["queue"].values) == (3.1, 5.0, ())
    assert courses(None, None) == ()
    bare = watched(run(), None, None, Competition(None, None), program="x")
    assert bare.delay_factor == pytest.approx(2 / 1.2), "rusage alone gives a reference"
    assert bare.waterfall["run-queue wait"].ns == 700_000_000
    assert "cannot observe" in bare.more[0]
    text(replace(bare, sentence=sentences.answer(bare)))


def test_a_run_without_cpu_time_has_no_reference_and_says_so():
    report = make(the_run=run(user_ns=None, system_ns=None), the_load=load(exec_ns=None))
    assert report.delay_factor is None
    assert report.waterfall is None
    assert "--reference" in report.sentence
    assert report.to_json()["bars"] == []
    text(report)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": "failed", "status": 3}, "failed with exit code 3"),
        ({"outcome": "failed", "status": -9}, "was killed by signal 9 (SIGKILL)"),
        ({"outcome": "timeout"}, "was killed when its time was over"),
        ({"outcome": "aborted"}, "was interrupted"),
    ],
)
def test_a_run_that_did_not_end_well_is_explained_all_the_same(changes, words):
    report = make(the_run=run(**changes))
    assert words in report.sentence
    assert "waiting for a CPU" in report.sentence


def test_a_run_that_nothing_delayed():
    report = make(the_run=run(wall_ns=1_210_000_000, wait_ns=0), the_load=load(wait_ns=0, steal_ns=0, queue=1.0))
    assert "Nothing that was counted delayed it." in report.sentence


def test_levels_say_what_would_tell_more():
    by_level = {level: " ".join(make(the_load=load(level=level)).more) for level in range(4)}
    assert "CONFIG_SCHED_INFO" in by_level[0]
    assert "becalm as root" in by_level[1]
    assert "kernel.task_delayacct=1" in by_level[2]
    assert by_level[3] == ""
    assert "too small" in make(the_load=load(level=3, lost=2)).more[0]


def test_circumstances_come_from_settings_and_facts():
    facts = {"scheduler": {"autogroup": True}}
    assert circumstances(load(), Settings(), facts) == Competition(3.1, 2, grouped=True)
    settings = Settings.of({"cpus": "1", "nice": -5})
    assert circumstances(load(), settings, {}) == Competition(3.1, 1, nice=-5, grouped=None)
    assert circumstances(load(cpus=8), Settings.of({"cpus": "0-2,6"}), {}).cpus == 4
    assert circumstances(load(cpus=2), Settings.of({"cpus": "0-7"}), {}).cpus == 2, "no more than there are"
    assert circumstances(None, Settings.of({"cpus": "0-7"}), {}).cpus == 8
    assert circumstances(load(cpus=8), Settings.of({"cpus": "isolated"}), {}).cpus == 8, "not known: those online"


@pytest.mark.parametrize("plain", [False, True])
def test_it_fits_eighty_columns(plain):
    for reference in (None, plain_reference(SECOND, run())):
        drawing = text(make(reference), 80, plain)
        assert max(map(len, drawing.splitlines())) <= 80
    assert plain == drawing.isascii()


@pytest.mark.parametrize("width", [60, 120])
def test_bars_have_the_room_that_numbers_leave(width):
    tables = text(make(), width).partition("Where the time went")[2].partition("What is known")[0]
    assert "…" not in tables
    longest = max(line.count("█") for line in tables.splitlines())
    assert longest <= 10 if width == 60 else longest > 30


def test_names_of_programs_are_no_markup():
    changed = replace(make(), program="[red]x[/red]")
    assert "[red]x[/red] took" in text(replace(changed, sentence=sentences.answer(changed)))


def test_the_json_is_json():
    value = json.loads(json.dumps(make().to_json(), allow_nan=False))
    assert value["kind"] == "watch"
    assert value["delay_factor"] == pytest.approx(2 / 1.2)
    assert value["run"]["wall_ns"] == 2 * SECOND
    assert value["load"]["queue"] == 3.1
    assert {course["name"] for course in value["courses"]} >= {"cpu", "queue"}


def test_observing_says_what_it_cost_and_lost():
    sentence = sentences.cost(make(the_series=series(dropped=4)))
    assert "1.500 ms" in sentence
    assert "0.075 %" in sentence
    assert "4 samples dropped" in sentence
    assert "1 sample left out" in sentence


def test_others_are_named_when_they_matter():
    assert sentences.consumers(make()) == "cc1 (41) 95 %"


def test_names_of_processes_are_one_line_that_no_terminal_obeys():
    names = ("two\nlines", "esc\x1b[2J", "")
    watched = replace(make(), consumers=tuple(Consumer(pid, name, 2 * SECOND) for pid, name in enumerate(names)))
    assert sentences.consumers(watched) == "two\\nlines (0) 100 %, esc\\x1b[2J (1) 100 %, (no name) (2) 100 %"


def test_missing_columns_are_named():
    assert tables.untold(make()) == "Not available here: NFS calls, frequency."


def document(**changes):
    values = {
        "study": Study("watch", (Workload.of("gzip x"),), options={"unloaded": {"wall_ns": SECOND}}),
        "runs": [run()],
        "loads": [load()],
        "series": [series()],
        "number": 12,
    }
    return Document(**{**values, **changes})


def test_a_stored_run_is_said_the_same_of():
    verdict = conclude(document())
    assert verdict.study == 12
    assert verdict.delay.reference_ns == SECOND
    assert verdict.delay.reference == "unloaded run"
    study = replace(document().study, options={"unloaded": plain_dict(plain_reference(SECOND, run()))})
    assert conclude(document(study=study)).waterfall == verdict.waterfall
    with pytest.raises(UsageError, match="no finished run"):
        conclude(document(runs=[]))


def test_settings_and_emulated_times_are_reported():
    options = {"standing": {"swappiness": 10}, "emulated": "QEMU without KVM"}
    study = replace(document().study, settings=(Settings.of({"nice": -5}),), options=options)
    verdict = conclude(document(study=study))
    message = "Settings of this run: nice=-5. Applied before, until `becalm reset`: swappiness=10."
    assert verdict.sentence.splitlines()[-1] == message
    assert message in " ".join(text(verdict).split())
    assert "nice=-5" in html.page(verdict)
    assert "nice=-5" in markdown.write(verdict)
    assert "are emulated (QEMU without KVM)" in verdict.sentence
    assert verdict.to_json()["settings"] == {"nice": -5}
    assert verdict.to_json()["standing"] == {"swappiness": 10}
    assert "Settings" not in conclude(document()).sentence


def test_markdown_is_tables_that_hold_together():
    hostile = replace(make(), program="a|b`c")
    text = markdown.write(replace(hostile, sentence=sentences.answer(hostile)))
    assert "a\\|b\\`c took" in text
    tables_ = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables_) == 3
    for block in tables_:
        widths = {len(line.replace("\\|", "").split("|")) for line in block.splitlines()}
        assert len(widths) == 1, block
    assert "| unexplained |" in text


def test_the_page_needs_nothing_else_and_escapes_names():
    hostile = replace(make(), program="<script>alert(1)</script>")
    page = html.page(replace(hostile, sentence=sentences.answer(hostile)))
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "unexplained" in Page(page).text
    assert "nan" not in page.lower().split("</style>")[1]


def test_exports_of_a_stored_run():
    assert markdown.write(conclude(document())) == written(document(), format_row("markdown"))
    assert "<svg" in written(document(), format_row("html"))
    rows = list(csv.DictReader(io.StringIO(written(document(), format_row("csv")))))
    assert (rows[0]["wall_ns"], rows[0]["load_queue"], rows[0]["load_nfs_calls"]) == (str(2 * SECOND), "3.1", "")
    plain = document(loads=[], series=[])
    assert "load_queue" not in written(plain, format_row("csv")).splitlines()[0]


def test_the_series_as_a_table(tmp_path):
    path = tmp_path / "s.csv"
    assert formats.write(document(), path) == 21
    rows = list(csv.DictReader(path.open()))
    assert rows[0]["interval_ns"] == "", "the beginning"
    assert rows[11]["disk_write_bytes"] == str(12 << 20)
    assert rows[5]["queue"] == "5.0"
    assert rows[1]["frequency_khz"] == "", "unknown is empty"
    assert rows[20]["time_ns"] == str(2 * SECOND)
    with pytest.raises(UsageError, match="no load over time"):
        formats.write(document(series=[]), path)
    with pytest.raises(UsageError, match="writes"):
        formats.write(document(), tmp_path / "s.xlsx")
    with pytest.raises(MachineError, match="cannot be written"):
        formats.write(document(), tmp_path / "no/s.csv")


def test_parquet_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pyarrow"):
        formats.check(tmp_path / "s.parquet")


def test_parquet_has_types_and_nulls(tmp_path):
    parquet = need_module("pyarrow.parquet")
    path = tmp_path / "s.parquet"
    assert formats.write(document(), path) == 21
    table = parquet.read_table(path)
    assert str(table.schema.field("queue").type) == "double"
    assert str(table.schema.field("disk_write_bytes").type) == "int64"
    assert table["disk_write_bytes"].to_pylist()[11] == 12 << 20
    assert table["frequency_khz"].null_count == 21


def test_known_sources_of_interrupts_are_named():
    many = make(the_series=replace(series(), interrupts=({"name": "LOC", "count": 3000},)))
    assert "timers of the CPUs 1,500/s." in text(many, 200)
    sources = ({"name": "LOC", "count": 500}, {"name": "36:virtio1-req.0", "count": 61}, {"name": "XYZ", "count": 1})
    report = make(the_series=replace(series(), interrupts=sources))
    line = "Interrupts of the machine: timers of the CPUs 250/s, virtio1-req.0 30.5/s, XYZ 0.5/s."
    assert line in text(report, 200)
    assert line in markdown.write(report).replace("\\", "")
    assert "virtio1-req.0 30.5/s" in html.page(report)
    assert report.to_json()["interrupters"][1] == {"name": "36:virtio1-req.0", "count": 61}
    assert "Interrupts of" not in text(make())


@pytest.mark.parametrize(("times", "message"), [(1.234, "1.23"), (12.345, "12.3"), (112.95, "113"), (4321.4, "4,321")])
def test_a_factor_has_no_more_digits_than_it_is_worth(times, message):
    delay = Delay(times, times * 1e6, 1e6, "own CPU time", None, None, None)
    assert sentences.factor(delay) == f"{message} times its own CPU time, 1.000 ms"
