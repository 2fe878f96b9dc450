"""The timers of Armv8, for which there is no machine here: becalm-clock's tests, its C header and a whole evaluation
on an emulated processor. It shows that the instructions are right and that nothing traps, and no times."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.needs import missing, need
from tests.places import ROOT

TARGET = "aarch64-unknown-linux-gnu"
LIBRARIES = "/usr/aarch64-linux-gnu"
CRATE = ROOT / "crates/becalm-clock"
ASKED = {"budget_ns": 5_000_000_000, "filter": "robust", "search": "grid", "seed": 1}
ASKED |= {"timers": ["barrier", "bare", "cycles", "clock_gettime"], "flushes": ["L1", "evicted"]}


def test_the_crate_the_header_and_an_evaluation_run_on_an_emulated_processor(tmp_path):
    emulated = [need("qemu-aarch64"), "-L", LIBRARIES]
    compiler = need("aarch64-linux-gnu-gcc")
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", TARGET], capture_output=True, text=True, check=True
    )
    if not Path(libraries.stdout.strip()).is_dir():
        missing(f"Rust cannot compile for {TARGET}: rustup target add {TARGET}")
    variable = f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}"
    with_emulator = {**os.environ, f"{variable}_LINKER": compiler, f"{variable}_RUNNER": " ".join(emulated)}
    cargo = {"cwd": ROOT, "env": with_emulator, "capture_output": True, "text": True, "timeout": 600}

    done = subprocess.run(["cargo", "test", "-p", "becalm-clock", "--lib", "--locked", "--target", TARGET], **cargo)
    assert done.returncode == 0, done.stdout + done.stderr

    header = tmp_path / "header"
    strict = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}"]
    subprocess.run([compiler, *strict, CRATE / "tests/header.c", "-o", header], check=True)
    assert subprocess.run([*emulated, header], check=False, timeout=600).returncode == 0

    built = subprocess.run(["cargo", "build", "-p", "becalm-timers", "--locked", "--target", TARGET], **cargo)
    assert built.returncode == 0, built.stderr
    program = ROOT / "target" / TARGET / "debug/becalm-timers"
    done = subprocess.run([*emulated, program, json.dumps(ASKED)], capture_output=True, text=True, timeout=600)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "done", done.stderr
    assert events[0]["trust"]["source"] == "isb;cntvct_el0;isb"
    # CNTFRQ_EL0, the frequency that the architecture announces: within the error that calibration gives, and more.
    assert events[0]["trust"]["hz"] == pytest.approx(events[0]["trust"]["announced_hz"], rel=0.05)
    measured = {(event["timer"], event["flush"]) for event in events if event["event"] == "cell"}
    absent = [event for event in events if event["event"] == "absent"]
    # On a busy machine a flush may take too much of the budget. It was tried then all the same.
    slow = {event["flush"] for event in absent if event["flush"] and "with a budget of" in event["reason"]}
    assert {flush for _, flush in measured} | slow == {"L1", "evicted"}
    assert {timer for timer, _ in measured} >= {"barrier", "bare"}
    reasons = {event["timer"]: event["reason"] for event in absent}
    # The emulator of programs has no performance counters, and says so to perf_event_open(2).
    assert reasons["cycles"]
