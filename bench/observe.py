"""The cost of observing the machine: one sample of everything, and a sampler's share of one CPU at 1/s and 10/s.

Also what the parsers cost on the files of a machine with 1,024 CPUs and 2,000 disks, made here: on such a machine the
kernel's own work of writing the files comes on top.

    python bench/observe.py

The figures are taken by crates/becalm-core/examples/observe.rs, which this builds. The sampler keeps itself below a
thousandth of one CPU by sampling less often; then the samples it made are fewer than asked for, and that is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from campaign import OUT, Record, begun, describe, save, saved, table, timed

ROOT = Path(__file__).parents[1]
LARGEST_SHARE = 0.001
RATES = (1, 10)
KINDS = {"states": "states (load, pressure, frequency)", "all": "everything"}


def built(example: str, crate: str = "becalm-core") -> str:
    """Build an example of the engine, or of another crate, and give its path. Raises SystemExit when cargo fails."""
    target = ["cargo", "build", "-q", "--release", "--locked", "-p", crate, "--example", example]
    if subprocess.run(target, cwd=ROOT, check=False).returncode != 0:
        raise SystemExit("The example could not be built; what cargo said is above.")
    return str(ROOT / "target/release/examples" / example)


def large_machine(root: Path, cpus: int = 1024, disks: int = 2000, interrupts: int = 500) -> None:
    """Write the files of a large machine whose counters are all busy: numbers of nine digits."""
    number = "123456789"
    numbers = f" {number}" * cpus
    files = {
        "proc/stat": "".join(f"cpu{n}{f' {number}' * 10}\n" for n in range(cpus)),
        "proc/diskstats": "".join(f"   8 {n} sd{n}{f' {number}' * 17}\n" for n in range(disks)),
        "proc/interrupts": "".join(f" CPU{n}" for n in range(cpus))
        + "\n"
        + "".join(f"{n}:{numbers} PCI-MSI {n}-edge nvme{n}\n" for n in range(interrupts)),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def measure(samples: int, seconds: float) -> Record:
    """Return the cost of a sample by source (ns), and the accounts of samplers."""
    observe = built("observe")
    cost: Record = json.loads(timed([observe, "samples", str(samples), "/"]).stdout)
    with tempfile.TemporaryDirectory() as directory:
        large_machine(Path(directory))
        large: Record = json.loads(timed([observe, "samples", str(max(5, samples // 100)), directory]).stdout)
    accounts = []
    for kind in KINDS:
        for rate in RATES:
            print(f"{KINDS[kind]} at {rate}/s for {seconds:.0f} s", file=sys.stderr)
            argv = [observe, "share", kind, str(1000 // rate), str(seconds)]
            accounts.append({"kind": kind, "rate": rate, **json.loads(timed(argv).stdout)})
    return {"cost": cost, "large": large, "accounts": accounts}


def microseconds(times: list[int]) -> list[str]:
    """Return the median, and the value that 95 % stay below, in us."""
    ordered = sorted(times)
    return [f"{statistics.median(ordered) / 1e3:.1f}", f"{ordered[int(0.95 * (len(ordered) - 1))] / 1e3:.1f}"]


def report(result: Record) -> str:
    """Format the machine, the cost of a sample, and the samplers' shares as Markdown."""
    cost = result["cost"]
    rows = [[f"`{name}`", *microseconds(times)] for name, times in cost["by_source_ns"].items()]
    rows.sort(key=lambda row: -float(row[1]))
    rows.append([f"all, {cost['values']} numbers (CPU time)", *microseconds(cost["all_ns"])])
    head = f"Machine: {describe(result['machine'])}. {len(cost['all_ns'])} samples"
    head += f"; the first, which opens the files: {cost['first_ns'] / 1e3:.0f} µs of CPU time.\n\n"
    shares = [
        [
            KINDS[account["kind"]],
            f"{account['rate']}/s",
            f"{1e9 * account['samples'] / account['elapsed_ns']:.2f}/s",
            f"{account['cpu_ns'] / account['samples'] / 1e3:.0f}",
            f"{100 * account['cpu_ns'] / account['elapsed_ns']:.4f} %",
            str(account["skipped"]),
            f"{account['setup_ns'] / 1e3:.0f}",
        ]
        for account in result["accounts"]
    ]
    columns = ["Sampled", "Asked", "Made", "CPU time a sample, µs", "Share of one CPU", "Skipped", "To start, µs"]
    large = result["large"]
    rows += [
        [f"`{name}` of the large machine", *microseconds(large["by_source_ns"][name])]
        for name in ("stat", "diskstats", "interrupts")
    ]
    return head + table(["Source", "Median, µs", "95 % below"], rows) + "\n\n" + table(columns, shares)


def judged(result: Record) -> list[str]:
    """Report for each goal of the project whether it is met."""
    worst = max(account["cpu_ns"] / account["elapsed_ns"] for account in result["accounts"])
    verdict = "met" if worst <= LARGEST_SHARE else "not met"
    return [f"largest share of one CPU: {100 * worst:.4f} %, wanted at most {100 * LARGEST_SHARE:.1f} %: {verdict}"]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each sampler runs")
    parser.add_argument("--out", type=Path, default=OUT / "observe.json")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured last")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.samples, chosen.seconds, chosen.out = 50, 2.0, chosen.out.with_name("observe-quick.json")
    if chosen.report:
        result = saved(chosen.out)
    else:
        result = {**begun(), **measure(chosen.samples, chosen.seconds)}
        save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result)]))


if __name__ == "__main__":
    main()
