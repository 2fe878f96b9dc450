"""The cache simulator on traces of real programs: what it counts is what cachegrind and callgrind count."""

import json
import os
import re
import subprocess

import pytest

from becalm.hosts.simulated.scheduler.engine import simulator_path

GEOMETRIES = [
    # Sets and ways of L1 (instructions, data) and of the last level: usual, direct-mapped, and small.
    ((32768, 8), (32768, 8), (262144, 16)),
    ((8192, 1), (4096, 1), (65536, 2)),
    ((16384, 4), (2048, 2), (32768, 4)),
]


def valgrind(*options):
    # Small caches tell where the stack begins, so each run gets the same environment; pytest's holds the test's name.
    environment = {"PATH": os.environ["PATH"]}
    command = ["valgrind", *options, "true"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def counted(report):
    """Return I refs, I1 misses, LLi misses, D refs, D1 misses, LLd misses of a report."""
    names = ("I   refs", "I1  misses", "LLi misses", "D   refs", "D1  misses", "LLd misses")
    return tuple(int(re.search(rf"{name}: +([\d,]+)", report)[1].replace(",", "")) for name in names)


def simulated(trace, l1i, l1, llc):
    size = [{"bytes": cache[0], "ways": cache[1]} for cache in (l1i, l1, llc)]
    machine = {"cpus": 1, "l1i": size[0], "l1": size[1], "l2": None, "llc": size[2], "inclusive": False}
    request = {"machine": machine, "pages": "virtual", "tasks": [{"program": {"trace": {"path": str(trace)}}}]}
    done = subprocess.run(
        [simulator_path(), "cache"], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True
    )
    data, instructions = json.loads(done.stdout)["cache"]["cpus"][0]
    return tuple(counts[name] for counts in (instructions, data) for name in ("references", "misses"))


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "true.lackey"
    valgrind("--tool=lackey", "--trace-mem=yes", f"--log-file={path}")
    return path


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("tool", ["cachegrind", "callgrind"])
def test_totals_are_those_of_an_independent_simulator(trace, tool, geometry):
    names = ("I1", "D1", "LL")
    sizes = [f"--{name}={size},{ways},64" for name, (size, ways) in zip(names, geometry, strict=True)]
    message = counted(valgrind(f"--tool={tool}", "--cache-sim=yes", f"--{tool}-out-file=/dev/null", *sizes))
    _, l1i_misses, lli_misses, _, l1_misses, lld_misses = message
    totals = simulated(trace, *geometry)
    # These are different runs of the program, so a few misses may differ. callgrind leaves out the first instructions.
    expected = (l1i_misses, lli_misses, l1_misses, lld_misses)
    assert totals == pytest.approx(expected, rel=0 if tool == "cachegrind" else 0.02, abs=3)
    assert min(totals) > 500, "something was simulated"


@pytest.mark.needs("valgrind")
def test_a_trace_that_was_cut_is_reported_with_its_line(trace, tmp_path):
    cut = tmp_path / "cut.lackey"
    whole = trace.read_bytes().splitlines(keepends=True)[:1000]
    cut.write_bytes(b"".join(whole) + b"I  04")
    request = {"tasks": [{"program": {"trace": {"path": str(cut)}}}]}
    done = subprocess.run(
        [simulator_path(), "cache"], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True
    )
    assert "Line 1001 of " in json.loads(done.stdout)["error"]
