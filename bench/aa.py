"""A/A campaign on the real machine: real programs compared with themselves. How often is a difference called?

    python bench/aa.py --budget 2 --comparisons 50
    python bench/aa.py --report

Every difference called is wrong by construction, and every interval should hold zero. Programs are mixed in random
order. `--tools auto,hyperfine,pyperf` gives the others the same wall time. Ctrl-C keeps everything finished.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from campaign import OUT, Log, Record, describe, percent, read_log, save, share, table, versions, work_off
from loop import build
from tools import Tool, make_tools

LINES = 20_000
"""Lines of the file that gzip and sort work on: tens of milliseconds of work."""
WANTED = 0.05


def programs(directory: Path) -> dict[str, list[str]]:
    """Return commands of different kinds: compression, sorting in memory, the many files of an interpreter's start, our
    loop."""
    rng = random.Random(1)
    text = directory / "text"
    text.write_text("".join(f"{rng.getrandbits(64):016x} {number}\n" for number in range(LINES)), encoding="ascii")
    loop = build(directory)
    paths = {name: shutil.which(name) for name in ("gzip", "sort")}
    if missing := [name for name, path in paths.items() if path is None]:
        raise SystemExit(f"This bench compares real programs with themselves; {missing[0]} is not in PATH.")
    return {
        "gzip": [str(paths["gzip"]), "-c", str(text)],
        "sort": [str(paths["sort"]), str(text)],
        "python": [sys.executable, "-c", "pass"],
        "loop": loop.argv(loop.calibrate(0.010)),
    }


def trial(
    tools: Sequence[Tool], commands: Mapping[str, list[str]], program: str, index: int, budget: float, seed: int
) -> Record:
    """Compare one program with itself by every tool, in random order."""
    order = random.Random(f"{seed}/{program}/{index}").sample(list(tools), len(tools))
    argv = commands[program]
    measured = {tool.name: tool.compare(argv, argv, budget).to_json() for tool in order}
    return {"program": program, "index": index, "order": [tool.name for tool in order], "tools": measured}


def summarize(records: Sequence[Record]) -> list[Record]:
    """Return one row for each reading and program, and one for all programs together."""
    rows = []
    used = records[0]["tools"]
    for tool, name in [(key, reading) for key in sorted(used) for reading in used[key]["readings"]]:
        for program in [*sorted({r["program"] for r in records}), "all"]:
            chosen = [r["tools"][tool] for r in records if program in (r["program"], "all")]
            readings = [c["readings"][name] for c in chosen]
            halves = [
                (c["high"] - c["low"]) / 2 for c in chosen if c.get("low") is not None and c.get("high") is not None
            ]
            rows.append(
                {
                    "reading": name,
                    "program": program,
                    "comparisons": len(chosen),
                    "different": sum(r["answer"] != 0 for r in readings),
                    "median_error": statistics.median(abs(r["estimate"]) for r in readings),
                    "largest_error": max(abs(r["estimate"]) for r in readings),
                    "half_width": statistics.median(halves) if halves else None,
                    "runs": statistics.median(c["runs"] for c in chosen),
                }
            )
    return rows


def report(result: Record) -> str:
    """Format the machine and the shares as Markdown."""
    config = result["config"]
    used = ", ".join(f"{name} {version}" for name, version in config["versions"].items())
    header = [
        *("Program", "Verdict by", "Called different", "Runs of each", "Median error", "Largest error"),
        "Half width of the interval",
    ]
    rows = [
        [
            r["program"],
            r["reading"],
            share(r["different"], r["comparisons"]),
            f"{r['runs']:.0f}",
            *("" if r[key] is None else percent(r[key], 3) for key in ("median_error", "largest_error", "half_width")),
        ]
        for r in result["rows"]
    ]
    return (
        f"Machine: {describe(result['machine'])}. {used}. {config['budget']:g} s for each tool and comparison. "
        f"Seed {config['seed']}.\n\n{table(header, rows)}"
    )


def judged(rows: Sequence[Record]) -> list[str]:
    """Report for each goal of the project whether becalm meets it in these comparisons."""
    return [
        f"{r['reading']}: {share(r['different'], r['comparisons'])} called different, "
        f"wanted at most {percent(WANTED, 0)}: " + ("met" if r["different"] <= WANTED * r["comparisons"] else "not met")
        for r in rows
        if r["reading"].startswith("becalm") and r["program"] == "all"
    ]


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=50, help="comparisons of each program with itself")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each tool and comparison")
    parser.add_argument("--tools", default="turns,auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "aa.json", help="trials go to the same name, .jsonl")
    parser.add_argument("--quick", action="store_true", help="one comparison of 1 s each: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the comparisons so far")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.comparisons, chosen.budget = 1, 1.0
        chosen.out = chosen.out.with_name("aa-quick.json")
    return chosen


def measure(chosen: argparse.Namespace, directory: Path) -> None:
    """Run the comparisons that are not in the log yet."""
    commands = programs(directory)
    config = {**{key: getattr(chosen, key) for key in ("budget", "tools", "seed")}, "versions": versions()}
    log = Log(chosen.out.with_suffix(".jsonl"), config)
    done = {(r["program"], r["index"]) for r in log.records}
    todo = [(p, i) for p in commands for i in range(chosen.comparisons) if (p, i) not in done]
    random.Random(chosen.seed).shuffle(todo)
    # One set of tools for each program: how many runs fill the time differs between programs.
    tools = {program: make_tools(chosen.tools.split(","), directory) for program in commands}
    for program in sorted({p for p, _ in todo}):
        for tool in tools[program]:
            tool.calibrate(commands[program], chosen.budget)

    def trials() -> Iterator[Callable[[], Record]]:
        for program, index in todo:
            yield partial(trial, tools[program], commands, program, index, chosen.budget, chosen.seed)

    work_off(trials(), log, len(todo))


def main() -> None:
    """Measure what is missing, then report."""
    chosen = options()
    if not chosen.report:
        with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
            measure(chosen, Path(directory))
    header, records = read_log(chosen.out.with_suffix(".jsonl"))
    if not records:
        raise SystemExit("No comparison is finished yet.")
    result = {**header, "rows": summarize(records)}
    save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
