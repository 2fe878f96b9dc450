"""The exposition: its format, what is summed, and how it is given away."""

import re

import pytest
from msgspec.structs import replace
from tests.unit.recorded import load

from becalm.errors import MachineError, UsageError
from becalm.load.live import Followed, Instant, ProcessCounts
from becalm.load.record import LOAD_COLUMNS
from becalm.report.watch.exporter import exposed
from becalm.report.watch.prometheus import COUNTERS, GAUGES, HELP, PROCESS, Exposition

SECOND = 1_000_000_000
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)+\})? (\S+)')


def parsed(text):
    """Return samples by name and labels, and types by metric; fail on what the format (0.0.4) does not allow."""
    assert text.endswith("\n")
    samples, types, seen = {}, {}, []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, "one TYPE a metric"
            types[name] = kind
        elif line.startswith("# HELP "):
            seen.append(line.split(" ")[2])
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert seen[-1] == match[1], "samples stand below their metric"
            samples[match[1] + (match[2] or "")] = float(match[3])
    assert set(types) == set(seen)
    return samples, types


def instant(number=0, process=None, **changes):
    record = load(interval_ns=SECOND, **changes)
    return Instant(number, 1_795_000_000 * SECOND, record, (), process, {}, number)


def test_sums_grow_and_states_do_not():
    exposition = Exposition("local")
    exposition.add(instant(0, disk_read_bytes=100))
    exposition.add(instant(1, disk_read_bytes=50, queue=7.0))
    samples, types = parsed(exposition.text())
    assert samples["becalm_disk_read_bytes_total"] == 150
    assert samples["becalm_run_queue_tasks"] == 7
    assert samples['becalm_cpu_seconds_total{mode="busy"}'] == 7.2
    assert samples["becalm_watched_seconds_total"] == 2
    assert samples["becalm_watch_skipped_total"] == 1
    assert types["becalm_disk_read_bytes_total"] == "counter"
    assert types["becalm_run_queue_tasks"] == "gauge"


def test_unknown_values_are_not_exposed_and_gaps_are_counted():
    exposition = Exposition("local")
    exposition.add(instant(0))
    exposition.add(instant(1, steal_ns=None))
    samples, _ = parsed(exposition.text())
    assert not any("nfs" in name for name in samples)
    assert samples['becalm_watch_unknown_total{metric="becalm_cpu_seconds_total",mode="steal"}'] == 1


def test_a_process_has_labels_that_cannot_break_the_format():
    before = ProcessCounts(name='a"b\\c\nd\udcff', run_ns=5, wait_ns=7, threads=3)
    exposition = Exposition("ssh://ada@x")
    exposition.add(instant(0, Followed(41, before, replace(before, run_ns=2 * SECOND), SECOND)))
    samples, _ = parsed(exposition.text())
    assert samples['becalm_process_cpu_seconds_total{pid="41",name="a\\"b\\\\c\\nd?"}'] == 2
    assert not any("block" in name for name in samples)


def test_before_the_first_interval_there_is_little_to_say():
    samples, _ = parsed(Exposition("local").text())
    assert list(samples) == [next(iter(samples))]


def test_the_tables_name_columns_that_there_are():
    assert {row.column for row in (*COUNTERS, *GAUGES)} <= set(LOAD_COLUMNS)
    assert {row.column for row in PROCESS} <= set(ProcessCounts.__struct_fields__)
    assert {row.metric for row in (*COUNTERS, *GAUGES, *PROCESS)} <= set(HELP)
    for row in COUNTERS:
        assert re.fullmatch(r"becalm_[a-z_]+_total", row.metric)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "becalm.prom"
    with exposed(str(path)) as write:
        assert not path.exists()
        write("one\n")
        first = path.stat().st_ino
        write("two\n")
    assert path.read_text() == "two\n"
    assert path.stat().st_ino != first, "renamed, not rewritten"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path):
    directory = tmp_path / "d"
    directory.mkdir()
    with exposed(str(directory / "becalm.prom")) as write:
        directory.rmdir()
        with pytest.raises(MachineError, match="cannot be written"):
            write("x\n")
    for wrong in (str(tmp_path), str(tmp_path / "no/such/file"), ":http", ":65536", ":-1"):
        with pytest.raises(UsageError), exposed(wrong):
            pass
