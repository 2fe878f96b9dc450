"""The scheduler simulator against real kernels: sizes that were not fitted, the order of settings, its own optimum.

    python bench/simulate_real.py                    # about 15 minutes
    python bench/simulate_real.py --budget 8min --hosts guest:6.1    # one host more, next to those that are finished
    python bench/simulate_real.py --refit            # fit and simulate again, with the times that were measured
    python bench/simulate_real.py --quick            # tiny sizes: shows that it works

`bench/all.py` measures this machine's kernel; guests, a quarter of an hour: by the first command, before that.

Each part has its share of the budget, and as many messages as fit into that; a trial first tells how fast the host is.
Times are stored after each run, and a finished part is not measured again (unless with `--again`). The table of a part
names what it did not reach. Runs of one part are interleaved, and medians are compared, since the machine may have
other work; the report has its load.

On each host hackbench runs with 2, 4, ..., 20 groups; costs are fitted to 2 and 6, and predict the others (`becalm
simulate --validate`): wanted within 10 %, with an R² that reaches what the noise of the runs leaves. In a 6.1 guest 15
settings, good and bad places, run interleaved with the defaults on one boot: the rank correlation (Spearman) of their
times with those of the model, with its interval (Fieller, Hartley & Pearson 1957, Biometrika 44:470), should be 0.6.
Among the settings are the published optimum, and the optimum that `becalm tune --minimize time` finds on the model with
these costs, which should keep half of its gain. Needs QEMU, kept kernels (`becalm guest prepare 6.1 6.12`) and
hackbench (Debian: rt-tests). Times in a guest are emulated: ratios of one boot mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from campaign import OUT, Record, becalm_command, begun, save, saved
from simulate_real_report import judged, report
from simulate_real_settings import OPTIMUM, SETTINGS, SETTINGS_HOST, Values

HOSTS = ("guest:6.1", "guest:6.12", "local")
SHARES = {("sizes", "guest:6.1"): 5, ("settings", "guest:6.1"): 5, ("sizes", "guest:6.12"): 3, ("sizes", "local"): 2}
"""The shares by which the remaining budget is divided among the parts still to come; the search on the model takes
seconds."""

TRIED = 5
"""Messages of each pair when it is tried how fast a host is."""

ROUNDS = {"sizes": 4, "settings": 6}
"""The number of rounds planned for a part; where the machine turns out to be faster, there are more."""

LOOPS = (5, 200)
"""Fewest and most messages of each pair."""

SEEDS = 12
"""Simulations of each setting, of which the mean counts."""

SEARCHED = 150
"""The search on the model may take so many runs."""

FACTORS = (
    "sched_latency_ns=0.1..1000ms:log",
    "sched_min_granularity_ns=0.1..1000ms:log",
    "sched_wakeup_granularity_ns=0.1..1000ms:log",
)


class Part:
    """A part of the bench: what it measures on which host, for how long, and where its raw times are kept."""

    def __init__(self, kind: str, host: str, seconds: float, chosen: argparse.Namespace, result: Record) -> None:
        self.kind, self.host, self.chosen, self._result = kind, host, chosen, result
        self._end = time.monotonic() + seconds
        self.kept: Record = {"part": kind, "host": host, "times_ns": {}}
        result["parts"].append(self.kept)
        self.kept["load"] = [os.getloadavg()[0]]

    def choose(self, groups: int) -> int:
        """Choose as many messages as let all rounds fit into the time, with this number of groups together in each
        round."""
        from becalm.nouns.settings import Settings
        from becalm.verbs.simulate_calibration import hackbench, measured

        loops = self.chosen.loops or LOOPS[0]
        if not self.chosen.loops and not self.chosen.quick:
            ((tried,),) = measured(self.host, [hackbench(2, TRIED)], [Settings()], 1, None, self.chosen.seed, said)
            round_s = (self._end - time.monotonic()) / ROUNDS[self.kind]
            loops = max(LOOPS[0], min(LOOPS[1], int(round_s / (tried / 1e9 / (2 * TRIED) * groups))))
        self.kept["loops"] = loops
        return int(loops)

    def measured(self, names: Sequence[str], programs: Any, settings: Any, needed: int) -> list[list[float]]:
        """Return the times of each name's program, ns; they are stored after each run."""
        from becalm.verbs.simulate_calibration import measured

        def heard(result: list[list[float]]) -> None:
            self.kept["times_ns"] = dict(zip(names, result, strict=True))
            save(self.chosen.out, self._result)

        runs, left_ns = 2 if self.chosen.quick else 1000, max(1.0, self._end - time.monotonic()) * 1e9
        return measured(
            self.host, programs, settings, runs, round(left_ns), self.chosen.seed, said, needed=needed, heard=heard
        )

    def keep(self) -> None:
        """Keep what came of it."""
        self.kept["load"].append(os.getloadavg()[0])
        save(self.chosen.out, self._result)


def said(text: str) -> None:
    """Tell how it goes."""
    print(text, file=sys.stderr, flush=True)


def validated(part: Part, simulator: str) -> Record:
    """Measure sizes on one host, predicted with costs fitted to two of them."""
    from becalm.verbs import simulate_calibration as verb

    cases = verb.FITTED_CASES if part.chosen.quick else verb.VALIDATED_CASES
    loops = part.choose(sum(case.groups for case in cases))
    names = [f"{case.groups} {case.policy}" for case in cases]
    times = part.measured(names, *verb.work_of(cases, loops), needed=len(verb.FITTED_CASES))
    return verb.calibrated(part.host, simulator, loops, dict(zip(cases, times, strict=True))).to_json()


def optimum(simulator: str, loops: int, chosen: argparse.Namespace) -> Record:
    """Return the settings that the search finds on the model, and their gain there."""
    from becalm.verbs.simulate import simulate
    from becalm.verbs.simulate_calibration import hackbench

    program = hackbench(groups_of(chosen), loops)
    budget = (30 if chosen.quick else SEARCHED) * simulate(list(program), host=simulator).end_ns / 1e9
    arguments = [
        *(*becalm_command(), "tune", "--minimize", "time", "--host", varied(simulator)),
        *("--budget", f"{budget:.3f}s", "--seed", str(chosen.seed), "--no-store", "--json"),
        *(*(f"--factor={factor}" for factor in FACTORS), "--", *program),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    document = json.loads(done.stdout)
    ratios = [arm["ratio"]["value"] for arm in document["comparisons"] if arm["ratio"] is not None]
    return {
        "settings": document["settings"],
        "gain": 1 - 1 / ratios[0] if ratios else 0.0,
        "runs": document["search_runs"],
    }


def groups_of(chosen: argparse.Namespace) -> int:
    """Return the groups of hackbench, for the settings."""
    return 2 if chosen.quick else int(chosen.groups)


def setting_records(part: Part, simulator: str, settings: Mapping[str, Values]) -> list[Record]:
    """Return each setting's time over that of the defaults, on the host and in the model, without those that were not
    reached."""
    from becalm.nouns.settings import Settings
    from becalm.verbs.simulate_calibration import hackbench

    all_settings: dict[str, Values] = {"defaults": {}, **settings}
    variants = [Settings.of(dict(setting)) for setting in all_settings.values()]
    program = hackbench(groups_of(part.chosen), part.kept["loops"])
    times = part.measured(list(all_settings), [program] * len(variants), variants, needed=1)
    return rows_of(all_settings, times, program, simulator)


def rows_of(
    settings: Mapping[str, Values], times: Sequence[Sequence[float]], program: Sequence[str], simulator: str
) -> list[Record]:
    """Return the settings next to the defaults, which come first: medians of their times, and the model's
    predictions."""
    from becalm.verbs.simulate import simulate
    from becalm.verbs.simulate_calibration import middle

    simulator = varied(simulator)
    model = [
        simulate(list(program), host=simulator, settings=dict(setting), seeds=SEEDS).end_ns
        for setting in settings.values()
    ]
    usual = statistics.median(times[0])
    rows: list[Record] = []
    for name, item, end in zip(settings, times, model, strict=True):
        row = {"setting": name, "runs": len(item), "simulated": end / model[0], "measured": None, "error": None}
        if len(item) > 1:
            row["measured"], row["error"] = (value / usual for value in middle(item))
        rows.append(row)
    return rows


def varied(simulator: str) -> str:
    """Return a model with jitter: without it, one simulation is only one of the possible courses of events."""
    return simulator if "jitter=" in simulator else f"{simulator}&jitter=0.05"


def model_of(host: str) -> str:
    """Return the simulated scheduler of a host's kernel."""
    from becalm.hosts.simulated.scheduler.versions import TABLE

    release = platform.release() if host == "local" else host.partition(":")[2]
    wanted = tuple(int(part) for part in release.split("-")[0].split(".")[:2])
    known = [row for row in TABLE if tuple(map(int, row.name.split("."))) <= wanted] or TABLE[:1]
    return f"sim:{known[-1].policy}?kernel={known[-1].name}&cpus=2"


def seconds_of(text: str) -> float:
    """Return a budget in seconds."""
    from becalm.units import duration_ns

    return duration_ns(text) / 1e9


def main() -> int:
    """Measure, simulate, and report; what is finished is kept when it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default=",".join(HOSTS), help="separated by commas")
    parser.add_argument("--budget", default="14min", help="of all together")
    parser.add_argument(
        "--groups", type=int, default=2, help="groups of hackbench for the settings: few make many switches"
    )
    parser.add_argument("--loops", type=int, default=None, help="messages of each pair [as many as fit]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "simulate_real.json")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works")
    parser.add_argument("--again", action="store_true", help="forget parts that were finished before")
    parser.add_argument("--refit", action="store_true", help="fit to the times of the last measurement anew")
    parser.add_argument("--report", action="store_true", help="print the tables of the last measurement")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.hosts, chosen.budget, chosen.out = "guest:6.1", "2min", chosen.out.with_name("simulate_real-quick.json")
        chosen.again = True
    if not (chosen.report or chosen.refit):
        if shutil.which("hackbench") is None:
            print("hackbench is missing: apt-get install rt-tests", file=sys.stderr)
            return 1
        measure(chosen)
    result = saved(chosen.out)
    if chosen.refit:
        refit(result)
        save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result)]))
    return 0


def measure(chosen: argparse.Namespace) -> None:
    """Measure all parts that are not finished; each is stored as soon as it is, and one that fails is named."""
    from becalm.errors import BecalmError

    result, end = resumed(chosen), time.monotonic() + seconds_of(chosen.budget)
    parts = [(kind, host) for host in chosen.hosts.split(",") for kind in ("sizes", "settings")]
    left = [part for part in parts if part not in finished(result) and (part[0] == "sizes" or part[1] == SETTINGS_HOST)]
    while left:
        share = SHARES.get(left[0], 2) / sum(SHARES.get(value, 2) for value in left)
        kind, host = left.pop(0)
        part = Part(kind, host, max(5.0, share * (end - time.monotonic())), chosen, result)
        try:
            if kind == "sizes":
                result["hosts"].append(validated(part, model_of(host)))
            else:
                simulator = simulator_of(result, host)
                loops = part.choose(groups_of(chosen) * (len(SETTINGS) + 2))
                result["optimum"] = optimum(simulator, loops, chosen)
                tried = {**SETTINGS, OPTIMUM: result["optimum"]["settings"]}
                result["settings"] = setting_records(part, simulator, tried)
        except BecalmError as error:
            result["failed"].append(f"{kind} on {host}: {error}")
        part.keep()
        said(f"{kind} on {host}: {end - time.monotonic():.0f} s left")


def resumed(chosen: argparse.Namespace) -> Record:
    """Return the stored result of an earlier, unfinished time, without the parts that it did not finish; else an empty
    one.

    Raises SystemExit when the kept parts are of another kind.
    """
    config = {"groups": groups_of(chosen), "loops": chosen.loops, "quick": chosen.quick}
    fresh = {"config": config, **begun(), "hosts": [], "settings": [], "optimum": None, "parts": [], "failed": []}
    if chosen.again or not chosen.out.exists():
        return fresh
    earlier = saved(chosen.out)
    if earlier.get("config") != config:
        raise SystemExit(f"{chosen.out} was measured with {earlier.get('config')}; --again measures all of it anew.")
    done = finished(earlier)
    earlier["parts"] = [part for part in earlier["parts"] if (part["part"], part["host"]) in done]
    return {**earlier, "failed": [], "command": fresh["command"]}


def finished(result: Record) -> set[tuple[str, str]]:
    """Return the parts that are complete."""
    sizes = {("sizes", host["host"]) for host in result["hosts"]}
    return sizes | ({("settings", SETTINGS_HOST)} if result["settings"] else set())


def simulator_of(result: Record, host: str) -> str:
    """Return the model of a host: with fitted costs, where there are some."""
    return next((str(entry["simulator"]) for entry in result["hosts"] if entry["host"] == host), model_of(host))


def refit(result: Record) -> None:
    """Fit the costs to the kept times again, and simulate the settings with them."""
    from becalm.verbs import simulate_calibration as verb

    parts = {(part["part"], part["host"]): part for part in result["parts"]}
    for at, entry in enumerate(result["hosts"]):
        part = parts["sizes", entry["host"]]
        times = {
            verb.CalibrationCase(int(name.split()[0]), name.split()[1]): value
            for name, value in part["times_ns"].items()
        }
        model = model_of(entry["host"])
        result["hosts"][at] = verb.calibrated(entry["host"], model, part["loops"], times).to_json()
    if result["settings"]:
        part = parts["settings", SETTINGS_HOST]
        tried = {"defaults": {}, **SETTINGS, OPTIMUM: result["optimum"]["settings"]}
        program = verb.hackbench(result["config"]["groups"], part["loops"])
        measured = list(part["times_ns"].values())
        result["settings"] = rows_of(tried, measured, program, simulator_of(result, SETTINGS_HOST))


if __name__ == "__main__":
    raise SystemExit(main())
