"""The time until a command has printed something that needs no measuring.

    python bench/startup.py

All commands are interleaved in random order. The bare interpreter is one of them: becalm cannot be faster.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from campaign import OUT, Log, Record, becalm_command, describe, read_log, save, table, timed, versions, work_off

COMPARED = "becalm compare --budget 50ms true true"
"""All that becalm does around a comparison: it starts, stores its runs, and says what they show."""

WANTED_S = {"becalm --version": 0.080, "becalm compare --help": 0.150, COMPARED: 0.250}


def commands() -> dict[str, list[str]]:
    """Return the commands by their names as a person would type them, with the real argument lists."""
    becalm = becalm_command()
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "becalm --version": [*becalm, "--version"],
        "becalm run --help": [*becalm, "run", "--help"],
        "becalm compare --help": [*becalm, "compare", "--help"],
        "becalm doctor --help": [*becalm, "doctor", "--help"],
        COMPARED: [*becalm, "compare", "--budget", "50ms", "--store", str(OUT / "startup.db"), "true", "true"],
        "hyperfine --version": ["hyperfine", "--version"],
        "pyperf --help": [sys.executable, "-m", "pyperf", "--help"],
    }


def repetition(index: int, seed: int) -> Record:
    """Run every command once, in random order; return wall times in seconds."""
    argv = commands()
    names = random.Random(f"{seed}/{index}").sample(list(argv), len(argv))
    return {"index": index, "wall_s": {name: timed(argv[name]).wall_s for name in names}}


def summarize(records: list[Record]) -> list[Record]:
    """Return one row a command: median, smallest and largest wall time in seconds."""
    rows = []
    for name in commands():
        times = [r["wall_s"][name] for r in records]
        rows.append({"command": name, "median": statistics.median(times), "min": min(times), "max": max(times)})
    return rows


def report(result: Record) -> str:
    """Format the machine and the times as Markdown."""
    rows = [[f"`{r['command']}`", *(f"{1e3 * r[key]:.1f}" for key in ("median", "min", "max"))] for r in result["rows"]]
    head = f"Machine: {describe(result['machine'])}. {result['repetitions']} repetitions.\n\n"
    return head + table(["Command", "Median, ms", "Smallest", "Largest"], rows)


def judged(rows: list[Record]) -> list[str]:
    """Report for each goal of the project whether it is met."""
    return [
        f"{r['command']}: {1e3 * r['median']:.0f} ms, wanted under {1e3 * wanted:.0f}: "
        + ("met" if r["median"] < wanted else "not met")
        for r in rows
        if (wanted := WANTED_S.get(r["command"]))
    ]


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=OUT / "startup.json", help="repetitions go to the same name, .jsonl"
    )
    parser.add_argument("--quick", action="store_true", help="three repetitions: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the repetitions so far")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repetitions, chosen.out = 3, chosen.out.with_name("startup-quick.json")
    path = chosen.out.with_suffix(".jsonl")
    if not chosen.report:
        log = Log(path, {"seed": chosen.seed, "versions": versions()})
        # The very first starts read files from disk and compile Python; that is another question.
        repetition(-1, chosen.seed)
        done = {r["index"] for r in log.records}
        todo = [index for index in range(chosen.repetitions) if index not in done]

        def trials() -> Iterator[Callable[[], Record]]:
            for index in todo:
                yield partial(repetition, index, chosen.seed)

        work_off(trials(), log, len(todo))
    header, records = read_log(path)
    if not records:
        raise SystemExit("No repetition is finished yet.")
    result = {**header, "repetitions": len(records), "rows": summarize(records)}
    save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
