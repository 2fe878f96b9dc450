"""The built-in kernels of known pressure, run by the agent: what they compute, touch and refuse."""

import json
import subprocess
from importlib.resources import files

import pytest

import becalm
from becalm.errors import WorkloadError
from becalm.nouns import tables

pytestmark = pytest.mark.machine
MIB = 1 << 20
AGENT = str(files("becalm") / "becalm-agent")


def said(name, *options):
    done = subprocess.run([AGENT, "kernel", name, *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("row", tables.built_in_kernels(), ids=lambda row: row.name)
def test_more_work_is_another_checksum_and_the_same_work_the_same(row):
    size = [word for each in row.parameters if each.name == "size" for word in ("--size", str(MIB))]
    # 12,345 is no whole number of rounds of anything.
    first, again, more = (said(row.name, *size, "--work", work) for work in ("12345", "12345", "12346"))
    assert first["checksum"] == again["checksum"] != more["checksum"]
    assert first["kernel"] == row.name
    assert first["parameters"]["work"] == 12345
    assert first["seconds"] > 0


def test_every_kernel_is_measured_like_any_program(tmp_path):
    texts = [f"kernel:{row.name}:work=1000" for row in tables.built_in_kernels()]
    verdict = becalm.compare(texts, runs=2, store=str(tmp_path / "runs.db"))
    assert [summary.runs for summary in verdict.summaries] == [2] * len(texts)


def test_what_is_asked_for_is_touched(tmp_path):
    options = {"runs": 2, "store": str(tmp_path / "runs.db"), "metric": ["time:wall", "memory:peak"]}
    peaks = []
    for size in ("1MiB", "40MiB"):
        (summary,) = becalm.run(f"kernel:gather:size={size},work=1000", **options).summaries
        peaks.append(next(each.mean.value for each in summary.metrics if "memory" in each.name))
    assert peaks[1] - peaks[0] > 38 * MIB


def test_more_than_the_memory_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(WorkloadError) as caught:
        becalm.run("kernel:chase:size=100TiB", runs=1, store=str(tmp_path / "runs.db"))
    assert "The kernel chase would touch 104857600 MiB of memory" in str(caught.value)
