"""The built-in kernels of known pressure, run by the agent: what they compute, touch and refuse."""

import json
import signal
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from tests.waiting import wait_for

import becalm
from becalm.errors import WorkloadError
from becalm.nouns import tables

MIB = 1 << 20
AGENT = str(files("becalm") / "becalm-agent")


def output_of(name, *options):
    done = subprocess.run([AGENT, "kernel", name, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SMALL = {
    **{row.name: {"size": str(MIB), "work": "12345"} for row in tables.built_in_kernels()},
    "float": {"work": "12345"},
    "cpuburner": {"work": "12345"},
    "change": {"size": str(MIB), "turns": "3", "period": "2000000"},
    "matrixmult": {"n": "20", "repeats": "3"},
    "phases": {"size": "4096", "sweeps": "3", "phases": "4"},
}
"""The parameters of each kernel here. 12,345 is not a whole number of rounds of anything."""


def words(name, **more):
    return [word for key, value in {**SMALL[name], **more}.items() for word in (f"--{key}", value)]


FIXED = [row for row in tables.built_in_kernels() if row.name != "change"]
"""The kernels whose result follows from their parameters; that of `change` follows from how long it takes."""


@pytest.mark.parametrize("row", FIXED, ids=lambda row: row.name)
def test_more_work_is_another_checksum_and_the_same_work_the_same(row):
    more = list(SMALL[row.name])[-1]
    first, again = output_of(row.name, *words(row.name)), output_of(row.name, *words(row.name))
    other = output_of(row.name, *words(row.name, **{more: str(int(SMALL[row.name][more]) + 1)}))
    assert first["checksum"] == again["checksum"] != other["checksum"]
    assert first["kernel"] == row.name
    assert {name: str(first["parameters"][name]) for name in SMALL[row.name]} == SMALL[row.name]
    assert first["seconds"] > 0


@pytest.mark.parametrize(("name", "pieces"), [("matrixmult", 3), ("phases", 4), ("change", 3)])
def test_a_mark_stands_before_each_piece_of_work(name, pieces, tmp_path):
    done = subprocess.run([AGENT, "kernel", name, *words(name)], capture_output=True, text=True, check=True)
    output_of(name, *words(name), "--marks", str(tmp_path / "marks"))
    times = []
    for text in (done.stderr, (tmp_path / "marks").read_text()):
        marks = [line.split() for line in text.splitlines()]
        assert [word for word, _ in marks] == ["mark"] * pieces
        times += [int(ns) for _, ns in marks]
    assert times == sorted(times), "of one run after the other, by one clock"
    refused = subprocess.run(
        [AGENT, "kernel", name, *words(name), "--marks", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 3
    assert "Marks cannot be written to" in refused.stderr


def has_run(pid):
    """Return whether a process has run for a tenth of a second (field 14 of proc_pid_stat(5)), many times what its work
    takes unless it is endless."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[14 - 3]) >= 10


@pytest.mark.parametrize("name", ["cpuburner", "memeater", "change"])
def test_an_endless_kernel_runs_until_it_is_ended(name):
    process = subprocess.Popen([AGENT, "kernel", name, *words(name), "--endless", "1"], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: process.poll() is not None or has_run(process.pid))
    finally:
        process.terminate()
        assert process.wait() == -signal.SIGTERM


def test_every_kernel_is_measured_like_any_program(tmp_path):
    texts = [
        f"kernel:{row.name}:" + ",".join(f"{key}={value}" for key, value in SMALL[row.name].items() if key != "period")
        for row in tables.built_in_kernels()
    ]
    texts = [text.replace("turns=3", "turns=3,period=2ms") for text in texts]
    verdict = becalm.compare(texts, runs=2, store=str(tmp_path / "runs.db"))
    assert [summary.runs for summary in verdict.summaries] == [2] * len(texts)


def test_a_kernel_touches_as_much_memory_as_requested(tmp_path):
    options = {"runs": 2, "store": str(tmp_path / "runs.db"), "metric": ["time:wall", "memory:peak"]}
    peaks = []
    for size in ("1MiB", "40MiB"):
        (summary,) = becalm.run(f"kernel:gather:size={size},work=1000", **options).summaries
        peaks.append(next(metric.mean.value for metric in summary.metrics if "memory" in metric.name))
    assert peaks[1] - peaks[0] > 38 * MIB


def test_more_than_the_memory_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(WorkloadError) as caught:
        becalm.run("kernel:chase:size=100TiB", runs=1, store=str(tmp_path / "runs.db"))
    assert "The kernel chase would touch 104857600 MiB of memory" in str(caught.value)
