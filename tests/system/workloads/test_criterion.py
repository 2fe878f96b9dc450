"""The source criterion with the real crate."""

import json
import os
import re

import pytest
from tests.needs import need
from tests.support.criterion_run import bench_output

from becalm import workloads

REAL = """
use criterion::{black_box, criterion_group, criterion_main, Criterion};
fn fold(c: &mut Criterion) {
    for n in [10u64, 1000] {
        c.bench_function(&format!("fold (.*) {n}"), |b| b.iter(|| (0..black_box(n)).fold(0, |a, x| a ^ black_box(x))));
    }
}
criterion_group!(benches, fold);
criterion_main!(benches);
"""


@pytest.mark.skipif(not os.environ.get("BECALM_CRITERION"), reason="compiling the crate takes minutes: make criterion")
def test_the_real_crate(tmp_path):
    need("cargo")
    package = tmp_path / "package"
    (package / "benches").mkdir(parents=True)
    (package / "src").mkdir()
    (package / "src/lib.rs").write_text("")
    (package / "benches/speed.rs").write_text(REAL)
    (package / "Cargo.toml").write_text(
        '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n[dev-dependencies]\n'
        'criterion = { version = "0.5", default-features = false }\n[[bench]]\nname = "speed"\nharness = false\n'
    )
    opened = workloads.open([f"criterion:{package}"])
    assert [entry.name for entry in opened] == ["fold (.*) 10", "fold (.*) 1000"]
    for index, workload in enumerate(opened):
        done = bench_output(workload, tmp_path / f"run {index}")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["median"]["point_estimate"] > 0
        assert re.findall(r"^Benchmarking (.*): Collecting 10 samples", done.stderr, re.MULTILINE) == [workload.name]
