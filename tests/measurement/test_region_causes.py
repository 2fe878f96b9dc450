"""Regions that real load delays: their outliers are laid next to the record of that load, which is named.

A program times work of a tenth of a millisecond over and over, bound to one processor. Now and then other programs
compute there, and send to themselves over loopback. Of the columns of the record those of loopback are the load's
alone, whoever else uses the machine.

What can be named follows from the number of ticks, ten a second on an idle machine and three where everybody waits: of
200 it was named each time, next to a dozen other programs, of 90 not at all. 400 are awaited here, so
the test is for a machine that does nothing else, as those of test_causes are (`make measure`); it tries twice.
"""

import os
import subprocess
import sys

import pytest
from tests.contract.clock.test_clock_header import CRATE
from tests.measurement.test_causes import QUIET

import becalm

pytestmark = [
    pytest.mark.needs("cc"),
    pytest.mark.skipif(QUIET not in os.environ, reason="real load is named on a machine that is idle: make measure"),
]

CPU = max(os.sched_getaffinity(0))
SECONDS = 40
TRIES = 2

PROGRAM = r"""
#define _GNU_SOURCE
#include <sched.h>
#include "becalm_regions.h"
static const char *const names[] = {"work"};
static becalm_record memory[800000];
int main(int argc, char **argv) {
    becalm_clock clock; becalm_ring ring; becalm_regions file; cpu_set_t set; uint64_t until;
    CPU_ZERO(&set); CPU_SET(atoi(argv[2]), &set);
    if (argc != 4 || sched_setaffinity(0, sizeof set, &set) != 0 || becalm_clock_init(&clock) != 0) return 77;
    becalm_ring_init(&ring, memory, 800000, 0);
    until = becalm_system_ns() + (uint64_t)atoi(argv[3]) * 1000000000u;
    while (becalm_system_ns() < until) {
        becalm_stamp from = becalm_begin();
        uint64_t end = becalm_system_ns() + 100000;
        while (becalm_system_ns() < end) { }
        becalm_ring_push(&ring, 0, from, becalm_end());
    }
    becalm_regions_open(&file, argv[1], &clock, names, 1);
    becalm_regions_flush(&file, &ring, 0);
    return becalm_regions_close(&file) != 0;
}
"""

LOAD = """
import os, random, socket, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
rng = random.Random(int(sys.argv[2]))
for _ in range(3):
    if os.fork() == 0:
        break
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("127.0.0.1", 0))
last = time.monotonic() + 120
while time.monotonic() < last:
    time.sleep(rng.uniform(0.8, 2.0))
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        own.sendto(bytes(1000), own.getsockname())
        own.recv(1000)
"""


def alongside_load(program, path, store, seed):
    """Return the findings about the outliers of one run next to load that comes and goes."""
    load = subprocess.Popen([sys.executable, "-c", LOAD, str(CPU), str(seed)], start_new_session=True)
    try:
        watched = becalm.watch([program, path, str(CPU), str(SECONDS)], output="discard", store=store)
    finally:
        os.killpg(load.pid, 9)
        load.wait()
    if watched.run.outcome != "ok":
        pytest.skip("no clock of this processor can be used, or it cannot be chosen")
    # Half a millisecond is no limit of a timer: it tells those who waited for the processor from mere interrupts.
    number = becalm.import_regions(path, store, t_diff="500us", alongside="last")
    return becalm.show(number, store).verdict


def test_the_cause_of_slow_regions_is_named(tmp_path):
    source, program, store = tmp_path / "x.c", tmp_path / "program", str(tmp_path / "runs.db")
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-std=gnu99", "-O2", f"-I{CRATE / 'include'}", source, "-o", program], check=True)
    messages = []
    for seed in range(TRIES):
        report = alongside_load(program, tmp_path / f"{seed}.regions", store, seed)
        assert report.regions[0].outliers
        causes = [finding for finding in report.findings if finding.kind == "region_cause"]
        if causes and {"loopback_bytes", "net_packets"} & set(causes[0].numbers["columns"]):
            return
        messages += [finding.sentence for finding in report.findings]
    pytest.fail("\n".join(messages))
