"""Count how often the process that slowed a program is named, and how often one that did not.

    python bench/culprit.py [--campaigns 100] [--without 300] [--real 0] [--out NAME]

Simulated: the scheduler of `sim:eevdf` runs a program and 20 other processes on two CPUs for 12 s; becalm's own
function gets what its agent would have counted, in blocks of 200 ms. Kinds of campaigns:

- one: of the 20, one computes in bursts that slow the program by about 10 %; the others are daemons that wake up now
  and then, and one that computes all the time at the lowest priority (SCHED_IDLE);
- alongside: the same next to a single-threaded program, with a process that keeps the other CPU busy and slows nobody;
- two: two culprits;
- none: no culprit, in turn: daemons alone, with the process on the other CPU, and four threads on two CPUs, which wait
  for each other.

Real (`--real`): `becalm run` of a program with two threads next to 20 processes of this bench, one of which computes.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import campaign
from becalm.hosts.simulated.scheduler.engine import Engine
from becalm.hosts.simulated.scheduler.knobs import usual
from becalm.load.culprits import waiting
from becalm.load.others import Others, OthersReading, ProcessUse
from becalm.load.record import Load
from becalm.load.waits import Waiting
from becalm.nouns.run import Run
from becalm.stats.arrays import Floats
from becalm.stats.culprits import LEAST

MS = 1_000_000
CPUS = 2
CANDIDATES = 20
BLOCKS, BLOCK_NS = 60, 200 * MS
UNTIL_NS = BLOCKS * BLOCK_NS
SPANS = 2_000_000

PROGRAM = "program"
KINDS = {
    "one": "one culprit, which slows two threads by about 10 %",
    "alongside": "one culprit next to a single thread, while another process keeps the other CPU busy",
    "two": "two culprits",
    "none": "no culprit: daemons, a busy other CPU, or four threads that wait for each other",
    "real": "one culprit on this machine",
}
"""The kinds of campaigns, in words."""

Task = dict[str, Any]


class Workload:
    """Tasks of the simulator, as they are added."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.programs: list[list[Any]] = []
        self.tasks: list[Task] = []
        self.lengths: list[list[int]] = []

    def add(self, name: str, steps: list[Any], count: int = 1, **more: str) -> None:
        """Add tasks that repeat these steps for ever."""
        self.programs.append([{"repeat": 10**9}, *steps, "end"])
        task = {"name": name, "program": len(self.programs) - 1, "start_ns": self.rng.randrange(20 * MS), **more}
        self.tasks += [dict(task) for _ in range(count)]

    def drawn(self, mean_ns: float) -> int:
        """Return the number of lengths that are exponential around a mean."""
        quantiles = [-mean_ns * np.log1p(-(place + 0.5) / 32) for place in range(32)]
        self.lengths.append([max(1, int(length)) for length in quantiles])
        return len(self.lengths) - 1

    def daemon(self, name: str) -> None:
        """Add a process that wakes up now and then."""
        work, pause = self.rng.uniform(0.05, 0.4) * MS, self.rng.uniform(20, 200) * MS
        self.add(name, [{"compute_drawn": self.drawn(work)}, {"sleep_drawn": self.drawn(pause)}])

    def bursts(self, name: str, share: float) -> None:
        """Add a process that computes for this share of the time, in bursts."""
        work = self.rng.uniform(50, 200) * MS
        pause = work * (1 - share) / share
        self.add(name, [{"compute_drawn": self.drawn(work)}, {"sleep_drawn": self.drawn(pause)}])

    def spins(self, name: str, count: int = 1, policy: str = "other") -> None:
        """Add tasks that compute all the time."""
        self.add(name, [{"compute": 500 * MS}], count, **{"class": policy})

    def to_json(self) -> dict[str, Any]:
        """Return the form of a request."""
        return {"tasks": {"programs": self.programs, "tasks": self.tasks, "lengths": self.lengths}}


def workload_of(kind: str, number: int, rng: random.Random) -> tuple[Workload, int, list[str]]:
    """Return the tasks of a campaign, the program's threads, and the culprits' names."""
    workload = Workload(rng)
    names = [f"candidate {place}" for place in range(CANDIDATES)]
    rng.shuffle(names)
    culprits = {"two": 2, "none": 0}.get(kind, 1)
    harmless = ("daemons", "alongside", "own")[number % 3] if kind == "none" else kind
    threads = {"alongside": 1, "own": 4}.get(harmless, 2)
    workload.spins(PROGRAM, threads)
    for place, name in enumerate(names):
        if place < culprits:
            # Two threads on two CPUs lose half of what is taken each; a single one next to a busy CPU a third.
            workload.bursts(name, rng.uniform(0.17, 0.25) if threads == 2 else rng.uniform(0.25, 0.35))
        elif place == culprits and harmless == "alongside":
            workload.spins(name)
        elif place == culprits:
            workload.spins(name, policy="idle")
        else:
            workload.daemon(name)
    return workload, threads, names[:culprits]


def simulated(engine: Engine, kind: str, number: int) -> campaign.Record:
    """Return one simulated campaign: who did it, and who was named."""
    workload, threads, culprits = workload_of(kind, number, random.Random(f"{kind} {number}"))
    summary = engine.simulate(
        {
            "workload": workload.to_json(),
            "policy": {"eevdf": usual("eevdf", CPUS)},
            "machine": {"cpus": CPUS, "hz": 250},
            "seed": number + 1,
            "until_ns": UNTIL_NS,
            "spans": SPANS,
        }
    )
    names = [task["name"] for task in workload.tasks]
    waits = waits_of(summary["spans"], names, threads)
    return {**outcome(kind, number, culprits, waits), "caused": caused(summary["spans"], names, threads)}


def outcome(kind: str, number: int, culprits: Sequence[str], waits: Waiting | None) -> campaign.Record:
    """Return the record of a campaign."""
    named = [] if waits is None else [culprit.name for culprit in waits.culprits]
    suspects = [] if waits is None or waits.suspects is None else list(waits.suspects.names)
    waited = 0.0 if waits is None else waits.lost_ns / waits.wall_ns
    return {
        "kind": kind,
        "number": number,
        "culprits": sorted(culprits),
        "named": named,
        "suspects": suspects,
        "bases": [] if waits is None else [str(culprit.basis) for culprit in waits.culprits],
        "waited": round(waited, 4),
    }


def waits_of(spans: Sequence[dict[str, int]], names: Sequence[str], threads: int) -> Waiting | None:
    """Return what becalm concludes of who ran when."""
    edges: Floats = np.linspace(0.0, float(UNTIL_NS), BLOCKS + 1)
    ran = np.array([_ran(spans, task, edges) for task in range(len(names))])
    runs, loads, others = [], [], []
    for block in range(BLOCKS):
        exec_ns = int(ran[:threads, block].sum())
        wait_ns = threads * BLOCK_NS - exec_ns
        at_ns = 10**18 + block * BLOCK_NS
        run = Run(block, 0, 0, block, 0, at_ns, BLOCK_NS, exec_ns, 0, None, None, None, None, wait_ns, None, "ok", 0, 0)
        runs.append(run)
        loads.append(
            Load(
                block, block, at_ns, BLOCK_NS, cpus=CPUS, busy_ns=int(ran[:, block].sum()), level=3,
                scope="tree", exec_ns=exec_ns, wait_ns=wait_ns, tasks=threads, steal_ns=0, quota_ns=0,
            )
        )  # fmt: skip
        taken = [ProcessUse(place, names[place], "", int(ran[place, block])) for place in range(threads, len(names))]
        seen = tuple(use for use in taken if use.amount >= BLOCK_NS // 1000)
        rest = sum(use.amount for use in taken if use.amount < BLOCK_NS // 1000)
        others.append(Others(block, block, (OthersReading(BLOCK_NS, seen, rest),)))
    return waiting(runs, loads, others)


def caused(spans: Sequence[dict[str, int]], names: Sequence[str], threads: int) -> dict[str, float]:
    """Return the share of the program's waits during which each process ran on one of its CPUs, where it is a hundredth
    or more: what a recording of every switch would count."""
    begins, ends = [], []
    for thread in range(threads):
        mine = sorted((span["from_ns"], span["to_ns"]) for span in spans if span["task"] == thread)
        begins += [before[1] for before in mine[:-1]]
        ends += [after[0] for after in mine[1:]]
    begin, end = np.array(begins, dtype=np.float64), np.array(ends, dtype=np.float64)
    total = float((end - begin).sum())
    shares = {}
    for task in range(threads, len(names)):
        taken = _curve(spans, task)
        ns = 0.0 if taken is None else float((np.interp(end, *taken) - np.interp(begin, *taken)).sum())
        if total and ns >= 0.01 * total:
            shares[names[task]] = round(ns / total, 3)
    return shares


def _ran(spans: Sequence[dict[str, int]], task: int, edges: Floats) -> Floats:
    """Return the CPU time of a task between edges."""
    taken = _curve(spans, task)
    return np.zeros(len(edges) - 1) if taken is None else np.diff(np.interp(edges, *taken))


def _curve(spans: Sequence[dict[str, int]], task: int) -> tuple[Floats, Floats] | None:
    """Return times and the CPU time of a task until then; None where it never ran."""
    mine = np.array([(span["from_ns"], span["to_ns"]) for span in spans if span["task"] == task], dtype=np.float64)
    if not len(mine):
        return None
    mine = mine[mine[:, 0].argsort()]
    total = np.concatenate([[0.0], np.cumsum(mine[:, 1] - mine[:, 0])])
    return mine.ravel(), np.column_stack([total[:-1], total[1:]]).ravel()


SPIN = (
    "import time\nwhile True:\n e=time.process_time()+{work}\n while time.process_time()<e: pass\n time.sleep({pause})"
)
THREADS = "for i in 1 2; do (i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done) & done; wait"


def real(number: int) -> campaign.Record:
    """Return one campaign on this machine: `becalm run` next to processes, one of which computes half of the time."""
    names = [f"candidate{place}" for place in range(CANDIDATES)]
    rng = random.Random(number)
    culprit = rng.randrange(CANDIDATES)
    with tempfile.TemporaryDirectory() as directory:
        running = []
        try:
            for place, name in enumerate(names):
                work, pause = (0.15, 0.15) if place == culprit else (0.0002, rng.uniform(0.05, 0.3))
                program = Path(directory) / name
                program.symlink_to(sys.executable)
                argv = [str(program), "-c", SPIN.format(work=work, pause=pause)]
                running.append(subprocess.Popen(argv))
            time.sleep(1)
            store = str(Path(directory) / "store.db")
            argv = [*campaign.becalm_command(), "run", "--runs", "40", "--json", "--store", store]
            done = subprocess.run([*argv, "--", "sh", "-c", THREADS], capture_output=True, text=True, check=True)
        finally:
            for process in running:
                process.kill()
                process.wait()
    findings = [finding["numbers"] for finding in json.loads(done.stdout)["findings"] if finding["kind"] == "waits"]
    named = [culprit["name"] for waits in findings for culprit in waits["culprits"]]
    suspects = [name for waits in findings for name in (waits["suspects"] or {"names": []})["names"]]
    others = [name for name in named if not name.startswith("candidate")]
    return {
        "kind": "real", "number": number, "culprits": [names[culprit]], "named": named, "suspects": suspects,
        "bases": [culprit["basis"] for waits in findings for culprit in waits["culprits"]],
        "waited": round(sum(waits["lost_ns"] / waits["wall_ns"] for waits in findings), 4), "strangers": others,
        "load": round(os.getloadavg()[0], 2),
    }  # fmt: skip


def summary(records: Sequence[campaign.Record]) -> dict[str, Any]:
    """Return for each kind how many campaigns named all culprits, and how many anybody else."""
    result: dict[str, Any] = {}
    for kind in dict.fromkeys(record["kind"] for record in records):
        mine = [record for record in records if record["kind"] == kind]
        right = [set(record["culprits"]) <= set(record["named"]) for record in mine]
        together = [set(record["culprits"]) <= {*record["named"], *record["suspects"]} for record in mine]
        wrong = [any(_harmless(record, name) for name in record["named"]) for record in mine]
        waited = float(np.mean([record["waited"] for record in mine]))
        result[kind] = {
            "campaigns": len(mine), "named": sum(right), "with_suspects": sum(together), "wrong": sum(wrong),
            "others": sum(bool(set(record["named"]) - set(record["culprits"])) for record in mine),
            "waited": round(waited, 3),
        }  # fmt: skip
    return result


def _harmless(record: campaign.Record, name: str) -> bool:
    """Return whether a process is no culprit, and did not run during a tenth of the program's waits either."""
    return name not in record["culprits"] and record.get("caused", {}).get(name, 0.0) < LEAST / 2


def report(result: campaign.Record) -> str:
    """Return the table of a result."""
    rows = [
        (
            KINDS[kind],
            counts["campaigns"],
            "" if kind == "none" else counts["named"],
            counts["others"],
            counts["wrong"],
            f"{100 * counts['waited']:.1f} %",
        )
        for kind, counts in result["kinds"].items()
    ]
    head = (
        "one campaign",
        "campaigns",
        "all culprits named",
        "anybody else named",
        "a harmless process named",
        "waited",
    )
    return campaign.table(head, [tuple(map(str, row)) for row in rows])


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing in the log, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--without", type=int, default=300, help="campaigns without a culprit")
    parser.add_argument("--real", type=int, default=0, help="campaigns on this machine")
    parser.add_argument("--out", default="culprit")
    parser.add_argument("--quick", action="store_true", help="a few campaigns of each: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of what was measured last")
    options = parser.parse_args(argv)
    if options.report:
        print(report(campaign.saved(campaign.OUT / f"{options.out}.json")))
        return 0
    if options.quick:
        options.campaigns, options.without, options.out = 2, 3, f"{options.out}-quick"
    counts = {kind: options.without if kind == "none" else options.campaigns for kind in KINDS}
    counts["real"] = options.real
    campaign.OUT.mkdir(exist_ok=True)
    log = campaign.Log(campaign.OUT / f"{options.out}.jsonl", {"blocks": BLOCKS, "block_ns": BLOCK_NS})
    done = {(record["kind"], record["number"]) for record in log.records}
    todo: list[Callable[[], campaign.Record]] = []
    with_engine = Engine()
    for kind, count in counts.items():
        for number in range(count):
            if (kind, number) not in done:
                todo.append(
                    functools.partial(real, number)
                    if kind == "real"
                    else functools.partial(simulated, with_engine, kind, number)
                )
    try:
        campaign.work_off(todo, log, sum(counts.values()))
    finally:
        with_engine.close()
    result = {**campaign.begun(), "kinds": summary(log.records)}
    campaign.save(campaign.OUT / f"{options.out}.json", result)
    print(report(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
