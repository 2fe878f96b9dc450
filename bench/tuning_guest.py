"""The gain of scheduler settings for a program on a real kernel: a guest under CFS (6.1) or EEVDF (6.12), or here.

    python bench/tuning_guest.py                          # surface on 6.1: three factors, 32 runs, then confirmed
    python bench/tuning_guest.py --groups 1 --loops 100 --threads --size 4000 --budget 3min
    python bench/tuning_guest.py --method golden --budget 150s
    python bench/tuning_guest.py --kernel 6.12 --load wakeups
    python bench/tuning_guest.py --kernel local           # as root
    python bench/tuning_guest.py --report                 # all that is kept
    python bench/tuning_guest.py --quick                  # shows that it works, in about a minute

The bench calls `becalm tune` as a person would. The factors are those of the published experiment (Anderson 2013,
Operating System Scheduling Optimization: minimum granularity and latency from 0.1 ms to 1 s, wake-up granularity from 0
to 1 s) on 6.1, with golden section along all three at once; on 6.12 the slice of the program and of all, the cost of a
migration, the policy and a feature of EEVDF; on this machine what needs no debugfs, which many kernels lock: slice,
policy, autogroup. The load is hackbench with 20 groups of 40 processes, or two messengers that wake four workers each
(`wakeups`). Which load gains depends on the machine. Runs with messages of 4,000 bytes between 40 threads (`--groups 1
--loops 100 --threads --size 4000`) vary least. The gain is that of fresh runs, interleaved with the defaults, with its
interval. The chosen settings are then tried once more, by another becalm on a boot of its own.

bench/out/tuning_guest.json has the searches of all kernels, methods, loads and machines; a repeated search replaces the
old one. Needs QEMU, a kept kernel (`becalm guest prepare 6.1`) and hackbench (Debian: rt-tests). Times in a guest are
emulated: ratios of one boot mean something, times do not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from becalm.units import duration_ns
from campaign import OUT, Record, begun, describe, save, saved, table

FACTORS: dict[str, tuple[str, ...]] = {
    "6.1": (
        "sched_min_granularity_ns=0.1..1000ms:log",
        "sched_latency_ns=0.1..1000ms:log",
        "sched_wakeup_granularity_ns=0..1000ms:linear",
    ),
    "6.12": (
        "slice_ns=0.1..100ms:log",
        "sched_base_slice_ns=0.1..100ms:log",
        "sched_migration_cost_ns=0.01..10ms:log",
        "policy=other,batch",
        "sched_feature_run_to_parity",
    ),
    "local": ("slice_ns=0.1..100ms:log", "policy=other,batch", "autogroup"),
}
"""The factors that are varied, by kernel."""

PATHS = {"6.1": "diagonal", "6.12": "slice_ns", "local": "slice_ns"}
"""The lines of golden section. That of the source (`many-tasks`) leaves the wake-up granularity at 0 nearly everywhere,
and it is what matters most to hackbench on 6.1."""

KEPT = OUT / "tuning_guest.json"

WANTED, PUBLISHED_GROUPS = 0.1648, 20
"""The published gain, with so many groups of hackbench. Golden section is to reach half of what `surface` does."""

MOST = {"surface": ("runs", 32), "golden": ("places", 8), "swarm": ("places", 60)}
"""The limit of a search on 6.1: runs, those of the defaults among them, or places."""


def name_of(chosen: argparse.Namespace) -> str:
    """Return the name of the load that is searched, with its size."""
    if chosen.load == "wakeups":
        return f"wakeups, {chosen.loops * 20} requests"
    threads = " -T" if chosen.threads else ""
    pipes = " -p" if chosen.pipes else ""
    size = f" -s {chosen.size}" if chosen.size else ""
    return f"hackbench{threads}{pipes}{size} -g {chosen.groups} -l {chosen.loops}"


def program(chosen: argparse.Namespace) -> list[str]:
    """Return the options for the quantity to minimise, the host and the program."""
    host = () if chosen.kernel == "local" else ("--host", f"guest:{chosen.kernel}?cpus=2")
    if chosen.load == "wakeups":
        requests = f"wakeups:messengers=2,workers=4,requests={chosen.loops * 20}"
        return ["--minimize", "metric", *host, "--program", requests]
    return ["--minimize", "time", *host, "--", *name_of(chosen).split()]


def search(chosen: argparse.Namespace) -> list[str]:
    """Return the options of the search."""
    factors = FACTORS[chosen.kernel]
    if chosen.method == "golden" and chosen.kernel != "6.1":
        factors = factors[:1]
    options = [part for factor in factors for part in ("--factor", factor)]
    if chosen.method == "golden":
        options += ["--path", PATHS[chosen.kernel]]
    elif chosen.quick:
        options += ["--most-runs", "20"]
    return ["--method", chosen.method, "--seed", str(chosen.seed), "--no-single-out", *options]


def tune(options: list[str], budget: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the answer of `becalm tune` with these options. Raises SystemExit where it fails."""
    arguments = [sys.executable, "-m", "becalm", "tune", "--json", "--budget", budget, *options, *program(chosen)]
    print(" ".join(arguments[2:]), flush=True)
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)
    result: dict[str, Any] = json.loads(done.stdout)
    print(result["sentence"], f"{result['elapsed_ns'] / 1e9:.0f} s of {budget}\n", sep="\n", flush=True)
    return result


def figures(verdict: Mapping[str, Any]) -> Record:
    """Return the numbers of a verdict that are stored: those of the arm that was chosen or tried, against the
    defaults."""
    arm = next((comparison for comparison in verdict["comparisons"] if comparison["ratio"] is not None), None)
    trials = [trial["settings"] for trial in verdict["trials"]]
    gain = None if arm is None else [1 - 1 / arm["ratio"][end] for end in ("value", "low", "high")]
    deviation = None if arm is None or arm["deviation"] is None else arm["deviation"]
    return {
        "sentence": verdict["sentence"],
        "gain": gain,
        "deviation": None if deviation is None else [deviation[end] for end in ("value", "low", "high")],
        "settings": verdict["settings"] or verdict["chosen"],
        "search_runs": verdict["search_runs"],
        "places": len({json.dumps(trial, sort_keys=True) for trial in trials if trial}),
        "confirm_runs": verdict["confirm_runs"],
        "seconds": round(verdict["elapsed_ns"] / 1e9),
    }


def which(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key that tells a search from the others: machine, kernel, load and method."""
    return (machine(row), row["kernel"], row["load"], row["method"])


def machine(row: Mapping[str, Any]) -> str:
    """Describe the machine of a search, without details that differ from day to day."""
    return ", ".join(str(row["machine"][name]) for name in ("cpu", "cores", "system", "kernel"))


def keep(row: Record, record: Record) -> None:
    """Put a search next to the others, in the place of the same one."""
    result = saved(KEPT) if KEPT.exists() else {"rows": []}
    others = [search for search in result["rows"] if which(search) != which(row)]
    save(KEPT, {**record, "rows": [*others, row]})


def _percent(interval: Sequence[float] | None) -> str:
    if interval is None:
        return "nothing chosen"
    value, low, high = (100 * limit for limit in interval)
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"


def report(result: Mapping[str, Any]) -> str:
    """Format the searches as a table."""
    rows, machines = [], list(describe_machines(result["rows"]))
    for row in result["rows"]:
        first, again = row["first"], row["again"]
        deviation = "" if again is None or again["deviation"] is None else "{:.2f} ({:.2f} to {:.2f})".format(
            *again["deviation"]
        )  # fmt: skip
        rows.append(
            [
                row["kernel"], f"`{row['load']}`", row["method"], f"{first['search_runs']}", f"{first['places']}",
                _percent(first["gain"]), "" if again is None else _percent(again["gain"]), deviation,
                f"{row['machine']['load']}", f"{machines.index(machine(row)) + 1}",
            ]
        )  # fmt: skip
    head = [
        "Kernel", "program", "method", "runs", "places", "confirmed", "on its own boot", "deviation", "load", "machine",
    ]  # fmt: skip
    return (
        table(head, rows) + "\n\n"
        "Runs and places of the search, and the share of the default's time that is saved, with its 95 % interval: by "
        "fresh runs after the search, and by those of another becalm on a boot of its own. Deviation: that of the "
        "defaults over that of the settings there. Load: of the machine when the search began.\n\n"
        + " ".join(
            f"Machine {number}: {sentence}."
            for number, sentence in enumerate(describe_machines(result["rows"]).values(), 1)
        )
    )


def describe_machines(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Describe each machine in a sentence, with all of its loads and days."""
    facts: dict[str, list[Record]] = {}
    for row in rows:
        facts.setdefault(machine(row), []).append(row["machine"])

    def over(some: Sequence[Record], what: str) -> str:
        low, high = min(record[what] for record in some), max(record[what] for record in some)
        return f"{low}" if low == high else f"{low} to {high}"

    return {
        name: describe({**some[0], "load": over(some, "load"), "date": over(some, "date")})
        for name, some in facts.items()
    }


def judged(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Report for each goal of hackbench on CFS whether it is met."""
    own = [row for row in rows if row["kernel"] == "6.1" and row["load"].startswith("hackbench")]
    machines, result = list(describe_machines(rows)), []
    for item in own:
        where = f"machine {machines.index(machine(item)) + 1}, 6.1, {item['load']}"
        last = item["again"] or item["first"]
        gain, (what, most) = last["gain"], MOST[item["method"]]
        used = item["first"]["search_runs" if what == "runs" else "places"]
        surface = next((e for e in own if which(e) == (machine(item), "6.1", item["load"], "surface")), None)
        wanted = WANTED
        if item["method"] != "surface":
            best = (surface["again"] or surface["first"])["gain"] if surface else None
            wanted = WANTED if best is None else best[0]
            wanted = wanted / 2 if item["method"] == "golden" else wanted
        met = gain is not None and item["again"] is not None and gain[0] >= wanted and gain[1] > 0 and used <= most
        result.append(
            f"{where}, {item['method']}: {_percent(gain)} in {used} {what}, wanted {100 * wanted:.1f} % "
            f"in at most {most}: {'met' if met else 'not met'}"
        )
        if item["method"] == "surface" and gain is not None and last["deviation"] is not None:
            ratio = last["deviation"][0]
            result.append(
                f"{where}: the standard deviation of the defaults is {ratio:.2f} times that of the "
                f"settings, wanted at least 1: {'met' if ratio >= 1 else 'not met'}"
            )
    return result


def main() -> int:
    """Search, keep and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=tuple(FACTORS), default="6.1")
    parser.add_argument("--method", choices=tuple(MOST), default="surface")
    parser.add_argument("--load", choices=("hackbench", "wakeups"), default="hackbench")
    parser.add_argument("--groups", type=int, default=PUBLISHED_GROUPS, help="groups of hackbench, of 40 tasks each")
    parser.add_argument("--loops", type=int, default=10, help="messages of each pair")
    parser.add_argument("--threads", action="store_true", help="threads instead of processes")
    parser.add_argument("--pipes", action="store_true", help="pipes instead of sockets")
    parser.add_argument("--size", type=int, default=0, help="bytes of a message, hackbench's own choice where it is 0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="5min", help="of the search; half of that to try its settings again")
    parser.add_argument("--report", action="store_true", help="print what is kept")
    parser.add_argument("--quick", action="store_true", help="show that it works; nothing is kept")
    chosen = parser.parse_args()
    if chosen.report:
        result = saved(KEPT)
        print(report(result), *judged(result["rows"]), sep="\n")
        return 0
    if chosen.load == "hackbench" and shutil.which("hackbench") is None:
        print("hackbench is missing: apt-get install rt-tests", file=sys.stderr)
        return 1
    if chosen.quick:
        chosen.groups, chosen.loops, chosen.budget = 1, 10, "60s"
    facts = begun()
    print(describe(facts["machine"]), "\n", flush=True)
    verdict = tune(search(chosen), chosen.budget, chosen)
    again = None
    if verdict["settings"]:
        # Another process, so another boot of the guest.
        half = f"{duration_ns(chosen.budget) / 2e9:.0f}s"
        again = figures(tune(["--try", str(verdict["study"]), "--seed", str(chosen.seed + 1)], half, chosen))
    row = {
        "kernel": chosen.kernel,
        "load": name_of(chosen),
        "method": chosen.method,
        "seed": chosen.seed,
        "machine": facts["machine"],
        "first": figures(verdict),
        "again": again,
    }
    if not chosen.quick:
        keep(row, facts)
    print(report({**facts, "rows": [row]}), *judged([row]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
