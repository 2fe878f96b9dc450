"""The simulator as a process."""

import json
import subprocess

from tests.waiting import wait_ended

from becalm.hosts.simulated.scheduler.engine import simulator_path

DECADES = 10**18
"""A time, ns, whose simulation takes hours."""

REQUEST = {
    "workload": {
        "tasks": {"programs": [[{"compute": DECADES}]], "tasks": [{"name": "spin", "program": 0}] * 2, "room": []}
    },
    "policy": {"cfs": {}},
    "machine": {"cpus": 1, "hz": 250},
    "seed": 0,
}


def line(request):
    return json.dumps(request).encode() + b"\n"


def test_it_ends_with_the_reader_of_its_answers():
    simulator = subprocess.Popen([simulator_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    simulator.stdin.write(line({**REQUEST, "until_ns": 1}) + line(REQUEST))
    simulator.stdin.flush()
    assert "summary" in json.loads(simulator.stdout.readline())
    simulator.stdout.close()
    wait_ended(simulator.pid)
    assert simulator.wait() == 1
    simulator.stdin.close()
