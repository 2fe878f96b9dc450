"""Names of benchmarks that time themselves, as their libraries write them."""

from becalm.workloads import go, google_benchmark


def test_names_are_literal_in_patterns():
    assert google_benchmark.literal("BM<int>/a+b/8.5") == r"BM<int>/a\+b/8\.5"


def test_the_number_of_processors_is_no_part_of_a_go_name():
    assert go.without_processors(["BenchmarkA-8", "BenchmarkB/x-8"], 16) == ["BenchmarkA", "BenchmarkB/x"]
    assert go.without_processors(["BenchmarkAES-128", "BenchmarkB"], 256) == ["BenchmarkAES-128", "BenchmarkB"]
    assert go.without_processors(["BenchmarkAES-128"], 1) == ["BenchmarkAES-128"]
    assert go.without_processors(["BenchmarkAES-128-2"], 2) == ["BenchmarkAES-128"]
