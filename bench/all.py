"""All benches one after the other, and their results into the documents: every figure there from one machine.

    make bench                        # as root, on a machine that does nothing else: within two hours
    make bench BENCH="startup scale"  # some of them
    make bench BENCH=disturbed        # one that is only run when it is named: 25 minutes more
    make bench BENCH=--quick          # shows in minutes that all of them work; the documents stay as they are

Benches that measure this machine come first, while nothing else runs. Simulations, which depend on no machine, come
last. A bench that fails is named at the end, and the others run all the same. Finished results survive Ctrl-C, and the
same command continues from there; `--again` deletes them first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign import OUT

ROOT = Path(__file__).parents[1]
LIMIT_MINUTES = 120
ROOTED = os.geteuid() == 0
STATISTICS = "docs/explanation/statistics.md"


@dataclass(frozen=True)
class Bench:
    """A bench as it runs for the documents. `minutes`: about how long it takes on two slow CPUs.

    `document`: the file with its block, for a simulation, which fills that itself; `bench/fill.py` fills the others,
    but for those that are `printed` only.
    """

    name: str
    minutes: float
    arguments: tuple[str, ...] = ()
    document: str | None = None
    printed: bool = False
    apart: bool = False
    """Only run when it is named: all others together take the two hours."""

    @property
    def given(self) -> tuple[str, ...]:
        """All its arguments."""
        return self.arguments if self.document is None else (*self.arguments, "--document", self.document)

    @property
    def unprivileged(self) -> tuple[str, ...]:
        """The arguments where settings of the machine cannot be changed."""
        return tuple(cell for cell in self.given if cell != "--machine")


TABLE = (
    Bench("startup", 0.6),
    Bench("overhead", 2),
    Bench("late", 0.8, ("--repetitions", "10")),
    Bench("scale", 1),
    Bench("counting", 4, apart=True),
    Bench("holding", 2, ("--machine",)),
    Bench("observe", 3),
    Bench("interference", 4, ("--rounds", "40")),
    Bench("aa", 4, ("--budget", "1.5", "--comparisons", "20")),
    Bench("discriminate", 20, ("--budget", "4", "--trials", "10", "--budget-zero", "1.5", "--trials-zero", "40")),
    Bench("steady", 11, ("--budget", "60", "--loops", "9")),
    Bench("disturbed", 25, apart=True),
    Bench("disturbed_guest", 36, apart=True),
    Bench("kills", 90, apart=True),
    Bench("power_cuts", 15, apart=True),
    Bench("gates", 240, apart=True),
    Bench("schedules", 11, apart=True),
    Bench("memory_bound", 11, apart=True),
    Bench("published", 40, apart=True),
    Bench("clock", 5, ("--seconds", "270")),
    Bench("clock_arm", 1, ("--quick",), printed=True),
    Bench("counters_arm", 1, printed=True),
    Bench("causes", 8, ("--campaigns", "1"), printed=True),
    Bench("simulate", 2),
    Bench("place", 5),
    Bench("predictors", 0.2, (), "docs/explanation/placement.md"),
    Bench("sweetspots", 4),
    Bench("simulate_real", 2, ("--budget", "90s", "--hosts", "local")),
    Bench("tuning_guest", 4, ("--groups", "1", "--loops", "100", "--threads", "--size", "4000", "--budget", "150s")),
    Bench("explain", 3, ("--campaigns", "100")),
    Bench("culprit", 6, apart=True),
    Bench("where", 40, apart=True),
    Bench("layouts", 60, apart=True),
    Bench("survey", 5, ("--surveys", "80"), STATISTICS),
    Bench("history", 1, (), STATISTICS),
    Bench("bisection", 1, (), "docs/how-to/bisect.md"),
    Bench("recording", 4),
    Bench("perf_data", 0.2),
    Bench("migrations", 2, (), "docs/explanation/sweetspots.md"),
    Bench("hosts", 1, ("--studies", "10000"), STATISTICS),
    Bench("relinks", 1, ("--studies", "150"), STATISTICS),
    Bench("sessions", 1, ("--comparisons", "2000"), STATISTICS),
    Bench("coverage", 3, ("--seeds", "300"), STATISTICS),
    Bench("at_once", 10, ("--seeds", "150"), STATISTICS, apart=True),
    Bench("fastest", 2, ("--seeds", "250", "--programs", "5"), STATISTICS),
    Bench("spread", 3, ("--series", "1000"), "docs/reference/tune-report.md"),
    Bench("search", 6, ("--seeds", "75", "--random", "100"), "docs/explanation/methods.md"),
    Bench("tuning", 6, ("--jobs", "2")),
)
"""The benches in the order in which they run."""


def forget(name: str) -> None:
    """Remove what a bench kept of earlier trials."""
    for suffix in (".json", ".jsonl"):
        (OUT / f"{name}{suffix}").unlink(missing_ok=True)


def run(bench: Bench, arguments: Sequence[str]) -> str | None:
    """Run one; a sentence when it failed."""
    print(f"\n== {bench.name}: python bench/{bench.name}.py {' '.join(arguments)}", flush=True)
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, f"bench/{bench.name}.py", *arguments], cwd=ROOT, check=False).returncode
    print(f"== {bench.name}: {(time.monotonic() - begun) / 60:.1f} min", flush=True)
    return f"{bench.name} ended with {ended}" if ended else None


def chosen_benches(names: Sequence[str]) -> list[Bench]:
    """Return the benches of these names in the table's order; without names, all but those that run only on request.

    Raises SystemExit for one that there is not.
    """
    known = [row.name for row in TABLE]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"There is no bench {unknown[0]!r}. There are: {', '.join(known)}.")
    return [row for row in TABLE if row.name in names or not (names or row.apart)]


def main() -> None:
    """Run them, fill the documents, and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--quick", action="store_true", help="shows that they work; proves nothing, fills nothing")
    parser.add_argument("--again", action="store_true", help="forget trials of an earlier, unfinished time")
    parser.add_argument("--list", action="store_true", help="print what would be run, and about how long it takes")
    args = parser.parse_args()
    benches = chosen_benches(args.names)
    minutes = sum(bench.minutes for bench in benches)
    if args.list:
        for bench in benches:
            print(f"{bench.minutes:4g} min  python bench/{bench.name}.py {' '.join(bench.given)}")
        print(f"{minutes:4g} min  in all")
        return
    if not (ROOTED or args.quick):
        print("Without root, settings of this machine are not measured (holding, steady, disturbed).", file=sys.stderr)
    begun = time.monotonic()
    failed: list[str] = []
    try:
        for bench in benches:
            if args.again:
                forget(bench.name)
            arguments = ("--quick",) if args.quick else bench.given if ROOTED else bench.unprivileged
            if (why := run(bench, arguments)) is not None:
                failed.append(why)
        if not args.quick:
            subprocess.run([sys.executable, "bench/fill.py"], cwd=ROOT, check=True)
    except KeyboardInterrupt:
        raise SystemExit("\nStopped. What is finished is kept; the same command goes on from there.") from None
    spent = (time.monotonic() - begun) / 60
    print(f"\n{len(benches) - len(failed)} of {len(benches)} benches done in {spent:.0f} min.")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
