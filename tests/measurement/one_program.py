"""One program next to known load, in a session of its own: what the agent recorded of it, as JSON.

A program of its own (python tests/measurement/one_program.py REQUEST) so that `becalm` and the load have a terminal
session to themselves, whoever else computes on the machine. The request is a JSON object: `demand` (null for none),
`argv`, in which `{load}` stands for the numbers of the load's processes, `settings`, `directory`. What the program
prints is kept.
"""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

from becalm import hosts
from becalm.hosts import Access, LoadDetail, Loads, MeasureRequest, RunText, runs_of
from becalm.hosts.load_generator import Loading
from becalm.load.time_accounting import of
from becalm.load.waterfall import waterfall
from becalm.nouns.codec import plain_dict
from becalm.nouns.demand import Demand
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload


def processes(loading):
    """Return the process numbers of the load."""
    if loading is None:
        return ""
    parent = loading._process.pid
    return Path(f"/proc/{parent}/task/{parent}/children").read_text().strip()


def main():
    """Measure one run, and print what is known of it and of the load meanwhile."""
    request = json.loads(sys.argv[1])
    demand = request.get("demand")
    with (
        hosts.open("local", Access()) as host,
        Loading(Demand.from_json(demand)) if demand else nullcontext() as loading,
    ):
        argv = tuple(word.replace("{load}", processes(loading)) for word in request["argv"])
        workload = Workload(argv=argv, directory=request.get("directory"), output=Output.KEEP)
        host.define([workload], [Settings.of(request.get("settings"))])
        events = list(host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)), LoadDetail.TOTALS)))
        (run,) = runs_of(events)
        loads = [load for event in events if isinstance(event, Loads) for load in event.loads]
        outputs = [event.stdout for event in events if isinstance(event, RunText)]
        result = loading.end() if loading else None
    times = of([run], loads[0])
    value = {
        "run": run._asdict(),
        "load": loads[0]._asdict(),
        "times": plain_dict(times),
        "waterfall": plain_dict(waterfall(times)),
        "stdout": "".join(outputs),
        "made": None if result is None else plain_dict(result),
    }
    sys.stdout.write(json.dumps(value))


if __name__ == "__main__":
    main()
