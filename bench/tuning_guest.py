"""What settings of the scheduler gain a program on a real kernel: a guest under CFS (6.1) or EEVDF (6.12), or here.

    python bench/tuning_guest.py                          # surface on 6.1: three factors, 20 places, then confirmed
    python bench/tuning_guest.py --kernel 6.12 --method golden
    python bench/tuning_guest.py --kernel local --load wakeups    # as root
    python bench/tuning_guest.py --quick                  # shows that it works, in about a minute

Everything is asked of `becalm tune` itself, as a person would: the factors of the published experiment (Anderson 2013,
Operating System Scheduling Optimization: minimum granularity and latency from 0.1 ms to 1 s, wake-up granularity from
0 to 1 s) on 6.1, with golden section along all three at once; on 6.12 the slice of the program and of all, the cost of
a migration, the policy and a feature of EEVDF; on this machine what needs no debugfs, which many kernels lock: slice,
policy, autogroup. The load is hackbench, or two messengers that wake four workers each (`wakeups`). The gain is that of
fresh runs, interleaved with the defaults, with its interval; and what was chosen is then tried once more, by a becalm
and on a boot of its own. Needs QEMU, a kept kernel (`becalm guest prepare 6.1`) and hackbench (Debian: rt-tests). Times
in a guest are emulated: ratios of one boot mean something, times do not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from typing import Any

from becalm.units import duration_ns
from campaign import OUT, begun, describe, save

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
"""What is varied, by kernel."""

PATHS = {"6.1": "diagonal", "6.12": "slice_ns", "local": "slice_ns"}
"""The lines of golden section. That of the source (`many-tasks`) leaves the wake-up granularity at 0 nearly everywhere,
and it is what matters most to hackbench on 6.1."""


def program(chosen: argparse.Namespace) -> list[str]:
    """What is made small, where, and for which program."""
    groups, loops = (1, 10) if chosen.quick else (chosen.groups, chosen.loops)
    host = () if chosen.kernel == "local" else ("--host", f"guest:{chosen.kernel}?cpus=2")
    if chosen.load == "wakeups":
        requests = f"wakeups:messengers=2,workers=4,requests={loops * 20}"
        return ["--minimize", "metric", *host, "--program", requests]
    return ["--minimize", "time", *host, "--", "hackbench", "-T", "-g", str(groups), "-l", str(loops)]


def search(chosen: argparse.Namespace) -> list[str]:
    """The options of the search."""
    factors = FACTORS[chosen.kernel]
    if chosen.method == "golden" and chosen.kernel != "6.1":
        factors = factors[:1]
    options = [part for factor in factors for part in ("--factor", factor)]
    if chosen.method == "golden":
        options += ["--path", PATHS[chosen.kernel]]
    elif chosen.quick:
        options += ["--most-runs", "20"]
    return ["--method", chosen.method, "--seed", str(chosen.seed), *options]


def tune(options: list[str], budget: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """What `becalm tune` says, which is asked with these options. Raises SystemExit where it fails."""
    asked = [sys.executable, "-m", "becalm", "tune", "--json", "--budget", budget, *options, *program(chosen)]
    print(" ".join(asked[2:]), flush=True)
    done = subprocess.run(asked, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    print(summary(found), f"{found['elapsed_ns'] / 1e9:.0f} s of {budget}\n", sep="\n", flush=True)
    return {"asked": asked[2:], "verdict": found}


def summary(found: dict[str, Any]) -> str:
    """The verdict's own numbers, in words."""
    lines = [found["sentence"]]
    for arm in found["comparisons"]:
        ratio = arm["ratio"]
        if ratio is not None:
            gain = " to ".join(f"{100 * (1 - 1 / ratio[end]):.1f}" for end in ("low", "high"))
            lines.append(f"{arm['arm']}: {100 * (1 - 1 / ratio['value']):.1f} % ({gain}) less than the defaults")
        if arm["deviation"] is not None:
            value, low, high = (arm["deviation"][each] for each in ("value", "low", "high"))
            lines.append(f"standard deviation of the defaults over that: {value:.2f} ({low:.2f} to {high:.2f})")
    lines.append(f"runs: {found['search_runs']} of the search, {found['confirm_runs']} of the confirmation")
    lines.append(" ".join(f"{name}={value}" for name, value in found["settings"].items()) or "no settings")
    return "\n".join(lines)


def main() -> int:
    """Search, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=tuple(FACTORS), default="6.1")
    parser.add_argument("--method", choices=("surface", "golden", "swarm"), default="surface")
    parser.add_argument("--load", choices=("hackbench", "wakeups"), default="hackbench")
    parser.add_argument("--groups", type=int, default=2, help="groups of hackbench, of 40 threads each")
    parser.add_argument("--loops", type=int, default=100, help="messages of each pair")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="30min")
    parser.add_argument("--quick", action="store_true", help="show that it works")
    chosen = parser.parse_args()
    if chosen.load == "hackbench" and shutil.which("hackbench") is None:
        print("hackbench is missing: apt-get install rt-tests", file=sys.stderr)
        return 1
    said, budget = begun(), "60s" if chosen.quick else chosen.budget
    print(describe(said["machine"]), "\n", flush=True)
    found = tune(search(chosen), budget, chosen)
    verdict = found["verdict"]
    again = None
    if verdict["settings"]:
        # Another process, so another boot of the guest.
        half = f"{duration_ns(budget) / 2e9:.0f}s"
        again = tune(["--try", str(verdict["study"]), "--seed", str(chosen.seed + 1)], half, chosen)
    kept = OUT / f"tuning-guest-{chosen.kernel}-{chosen.load}-{chosen.method}.json"
    save(kept, {**said, **found, "again": again})
    print(f"kept in {kept}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
