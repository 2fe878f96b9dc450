"""The live view and the lines, drawn into a terminal that is none."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.unit.recorded import load

from becalm.load.live import Consumer, Followed, Instant, ProcessCounts
from becalm.report.watch import lines, live
from becalm.report.watch.history import WatchHistory
from becalm.report.watch.live import View, ended, fitting, live_view

SECOND = 1_000_000_000


def instant(number=0, process=None, **changes):
    record = load(interval_ns=SECOND, **changes)
    consumers = (Consumer(41, "cc1 [bold]", 950_000_000, 0.95),)
    return Instant(number, 1_795_000_000 * SECOND, record, consumers, process, {"nfs": "no NFS"}, 0, 90_000)


def process(run=500_000_000, wait=250_000_000, **fields):
    before = ProcessCounts("gzip", "R", 5, 1, 0, 0, 0, 0, user_ns=0, system_ns=0, voluntary=0, involuntary=0)
    after = replace(before, run_ns=run, wait_ns=wait, user_ns=run, **fields)
    return Followed(4711, before, after, SECOND)


def text(renderable, width=80, height=24):
    out = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    out.print(renderable)
    return out.file.getvalue()


def test_the_view_fits_its_terminal():
    for width, height in ((80, 24), (60, 12), (200, 60), (40, 5)):
        view = View("local", "1 s")
        for number in range(5):
            view.history.add(instant(number, process()))
        drawn = text(view.draw(width, height), width, height).splitlines()
        assert max(map(len, drawn)) <= width
        assert len(drawn) <= max(height, 20), (width, height, len(drawn))


def test_the_view_says_what_is_and_what_is_not_there():
    view = View("local", "1 s")
    view.history.add(instant(steal_ns=None, swap_out_bytes=4096 * 1024))
    drawn = text(view.draw())
    assert "2 CPUs" in drawn
    assert "cc1 [bold] 95 %" in drawn, "names are no markup"
    assert "4.0 MiB/s" in drawn
    assert "not available  CPU, " in drawn
    assert "steal" in drawn.split("not available")[1]
    assert "transfer size" not in drawn, "without a transfer there is none"
    assert "NFS calls" in drawn.split("not available")[1]
    assert "page-in" not in drawn.split("not available")[0], "a minor measure that was zero is not shown"


@pytest.mark.parametrize(("name", "shown"), [("a\nb", "a\\nb"), ("\x1b[2J", "\\x1b[2J"), ("", "(no name)")])
def test_the_name_of_a_process_is_one_line_that_no_terminal_obeys(name, shown):
    assert live.about(process(name=name)).startswith(f"{shown}, process 4711: ")


def test_a_watcher_that_falls_behind_says_so():
    view = View("local", "1 s")
    view.history.add(replace(instant(), skipped=3))
    assert "3 readings left out" in text(view.draw())


def test_tracks_that_were_always_zero_go_first():
    history = WatchHistory()
    history.add(instant(disk_write_bytes=0))
    tracks = list(history.tracks())
    labels = [track.measure.label for track in fitting(list(tracks), len(tracks) - 2)]
    assert "CPU" in labels
    assert "page-out" not in labels
    assert "disk write" not in labels
    assert len(fitting(list(tracks), 1)) == 1


def test_a_process_over_all_that_was_watched():
    history = WatchHistory()
    first = process()
    later = Followed(4711, first.after, replace(first.after, run_ns=SECOND, wait_ns=SECOND, user_ns=SECOND), SECOND)
    history.add(instant(0, first))
    history.add(instant(1, later))
    whole = history.followed()
    assert whole.delay == 2.0
    assert whole.interval_ns == 2 * SECOND
    assert "delay factor 2.000" in text(ended(history))
    assert "Watched for 2.0 s, 2 intervals" in text(ended(history))


def test_mean_and_peak_are_of_all_intervals_that_were_known():
    history = WatchHistory()
    for number, queue in enumerate((1.0, None, 5.0)):
        history.add(instant(number, queue=queue))
    track = next(item for item in history.machine if item.measure.name == "queue")
    assert (track.mean, track.peak, track.peak_at, track.now) == (3.0, 5.0, 2, 5.0)


@pytest.mark.parametrize("followed", [None, process()])
def test_lines_have_columns(followed):
    head, line = lines.head(followed is not None), lines.line(instant(0, followed))
    assert len(head) == len(line) == (79 if followed is None else 90)
    assert line.split()[-1] == "-", "NFS is not known"
    assert len(head.split()) == len(line.split())


def test_in_a_pipe_the_heading_comes_once():
    out = Console(file=io.StringIO(), width=80, soft_wrap=True)
    with live_view("local", "1 s", out=out) as take:
        take(instant(0))
        take(instant(1))
    written = out.file.getvalue().splitlines()
    assert len(written) == 3
    assert written[0].startswith("time")


def test_the_view_leaves_the_terminal_as_it_was_whatever_happens(monkeypatch):
    # Whatever the tests run on.
    monkeypatch.setenv("TERM", "xterm")
    out = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)

    def watch():
        with live_view("local", "1 s", out=out) as take:
            take(instant(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch()
    written = out.file.getvalue()
    assert written.count("\x1b[?1049h") == written.count("\x1b[?1049l") == 1
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
