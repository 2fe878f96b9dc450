"""The headers of becalm-clock as C++, and the example in Rust."""

import subprocess

import pytest
from tests.contract.clock import test_clock_header as header
from tests.contract.clock import test_region_files as regions
from tests.places import ROOT

cpp = pytest.mark.needs("g++")
standards = pytest.mark.parametrize("standard", ["c++11", "c++20", "c++23"])


def compiler(standard):
    return ("g++", "-x", "c++", f"-std={standard}", "-pthread")


@cpp
@standards
def test_the_arithmetic_is_that_of_the_crate(tmp_path, standard):
    header.check_arithmetic(compiler(standard), tmp_path)


@cpp
@standards
def test_the_example_times_a_region_or_reports_that_it_cannot(tmp_path, standard):
    header.check_example(compiler(standard), tmp_path)


@cpp
@standards
def test_events_are_counted_alongside_the_time(tmp_path, standard):
    header.check_counters(compiler(standard), tmp_path)


@cpp
@standards
def test_regions_that_the_header_writes_are_read_back(tmp_path, standard):
    regions.check_file(compiler(standard), tmp_path)


@cpp
@standards
def test_the_file_of_the_example_is_imported(tmp_path, own_directories, standard):
    regions.check_example(compiler(standard), "regions.cpp", {"sort": 10_000, "fill": 10_000}, tmp_path)


def test_the_file_of_the_example_in_rust_is_imported(tmp_path, own_directories):
    command = [
        "cargo",
        "run",
        "-q",
        "--locked",
        "-p",
        "becalm-clock",
        "--features",
        "std",
        "--example",
        "regions",
        "--",
    ]
    subprocess.run([*command, tmp_path / "x.regions"], cwd=ROOT, check=True, capture_output=True)
    regions.check_import(tmp_path / "x.regions", {"sum": 2_000, "sort": 2_000})
