"""Memory over time, and CPU time, of real programs."""

import sys

import pytest
from tests.contract.run.conftest import store  # noqa: F401
from tests.contract.run.test_metrics import check_counted, shell

import becalm
from becalm.store import Store

GROWS = "import time\nkept = []\nfor step in range(40): kept.append(bytes(range(256)) * 4096); time.sleep(0.02)"


def test_memory_is_measured_over_time_and_shown_again(store):  # noqa: F811
    specs = ["memory:peak", "memory:average", "memory:growth", "time:wall"]
    verdict = becalm.run([sys.executable, "-c", GROWS], metric=specs, runs=2, warmup=0)
    (summary,) = verdict.summaries
    peak, average, growth, wall = (metric.mean.value for metric in summary.metrics)
    assert peak > average > 20 << 20, "40 MiB, and half of it on average"
    assert growth > 1.2
    assert wall == pytest.approx(summary.mean_ns.value / 1e9, rel=1e-6)
    assert len(summary.memory) >= 8
    sizes = [size for _, size in summary.memory]
    assert max(sizes) > sizes[0] + (10 << 20)
    assert becalm.show(verdict.study).verdict.summaries == verdict.summaries
    with Store.open(store) as opened:
        (series,) = opened.all_series(verdict.study)
        assert 0 < series.cost_ns < 0.05 * summary.mean_ns.value


def test_memory_of_all_processes_counts_and_short_runs_have_a_peak_alone(store):  # noqa: F811
    child = f"{sys.executable} -c 'import time; kept = bytes(range(256)) * 200000; time.sleep(0.3)'"
    verdict = becalm.run(shell(f"{child} & {child}; wait"), metric="memory:peak", runs=2, warmup=0)
    assert verdict.summaries[0].metrics[0].mean.value > 95e6, "two of 51 MB"


def test_the_cpu_time_that_the_kernel_counts_is_compared(store):  # noqa: F811
    check_counted("task-clock")
