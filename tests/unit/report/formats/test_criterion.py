"""Directories of Criterion: what is found in them, and where a search ends."""

import json
import os

import pytest

from becalm.errors import UsageError
from becalm.report.formats import criterion


def benchmark(root, name, baseline="new"):
    where = root / name / baseline
    where.mkdir(parents=True)
    (where / "sample.json").write_text(json.dumps({"iters": [1, 2], "times": [10, 22]}))
    (where / "benchmark.json").write_text(json.dumps({"full_id": name, "title": name}))


def test_a_search_ends_where_many_directories_in_a_row_have_no_results(tmp_path, monkeypatch):
    monkeypatch.setattr(criterion, "BARREN", 20)
    for number in range(100):
        (tmp_path / f"a{number}").mkdir()
    benchmark(tmp_path, "z")
    seen = []
    walk = os.walk
    monkeypatch.setattr(
        os, "walk", lambda *arguments, **named: (seen.append(step) or step for step in walk(*arguments, **named))
    )
    with pytest.raises(UsageError, match=r"20 directories in a row have no results.*target/criterion itself"):
        criterion.read_directory(tmp_path, "new")
    assert len(seen) <= 22


def test_many_benchmarks_are_no_reason_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(criterion, "BARREN", 4)
    for number in range(12):
        benchmark(tmp_path, f"b{number}")
        (tmp_path / f"b{number}" / "report").mkdir()
    (document,) = criterion.read_directory(tmp_path, "new")
    assert len(document.study.workloads) == 12


def test_vanished_directories_are_skipped_and_unreadable_ones_reported(tmp_path, monkeypatch):
    benchmark(tmp_path, "kept")
    for number, error in ((2, FileNotFoundError), (13, PermissionError)):
        (tmp_path / error.__name__).mkdir(exist_ok=True)
        scan = os.scandir

        def scandir(path, scan=scan, error=error, number=number):
            if str(path).endswith(error.__name__):
                raise error(number, "cannot be looked into", str(path))
            return scan(path)

        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", scandir)
            (document,) = criterion.read_directory(tmp_path, "new")
            noticed = [notice.sentence for notice in document.noticed]
            if error is FileNotFoundError:
                assert not noticed
            else:
                assert noticed == [
                    f"Left out of the file: {tmp_path / 'PermissionError'}: the directory cannot be "
                    "read: cannot be looked into."
                ]


def test_directories_of_other_versions_are_named_and_the_others_are_read(tmp_path):
    for name in ("whole", "list", "nameless", "cut", "unlike"):
        benchmark(tmp_path, name)
    (tmp_path / "list/new/sample.json").write_text("[[1, 2], [10, 22]]")
    (tmp_path / "nameless/new/benchmark.json").unlink()
    (tmp_path / "cut/new/sample.json").write_text('{"iters": [1')
    (tmp_path / "unlike/new/sample.json").write_text(json.dumps({"iters": [1, 0, 1, 1], "times": [10, 5, 0, "x"]}))
    (document,) = criterion.read_directory(tmp_path, "new")
    assert [workload.name for workload in document.study.workloads] == ["unlike", "whole"]
    assert [run.metrics for run in document.runs if run.workload == 0] == [(10.0,)]
    reasons = {notice.numbers["reason"]: dict(notice.numbers["entries"]) for notice in document.noticed}
    assert reasons == {
        "sample.json has the form of before Criterion 0.3.3; " + criterion.STALE: {"list": 1},
        "there is no benchmark.json with its full name; " + criterion.STALE: {"nameless": 1},
        "sample.json is not whole JSON: it may be half written; " + criterion.STALE: {"cut": 1},
        "a sample of no iterations": {"unlike": 1},
        "zero or below, which has no ratio": {"unlike": 1},
        'times[3] is "x", where a number is expected': {"unlike": 1},
    }


def test_a_directory_of_which_nothing_can_be_read_is_refused_with_all_reasons(tmp_path):
    for name in ("list", "nameless"):
        benchmark(tmp_path, name)
    (tmp_path / "list/new/sample.json").write_text("[[1, 2], [10, 22]]")
    (tmp_path / "nameless/new/benchmark.json").unlink()
    with pytest.raises(UsageError, match=r"list: sample.json has the form .*nameless: there is no benchmark.json"):
        criterion.read_directory(tmp_path, "new")
