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
        os, "walk", lambda *given, **named: (seen.append(each) or each for each in walk(*given, **named))
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


def test_what_is_gone_meanwhile_is_passed_over_and_what_may_not_be_read_is_told(tmp_path, monkeypatch):
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
            if error is FileNotFoundError:
                assert len(criterion.read_directory(tmp_path, "new")) == 1
            else:
                with pytest.raises(UsageError, match=r"PermissionError cannot be read .*would be left out"):
                    criterion.read_directory(tmp_path, "new")
