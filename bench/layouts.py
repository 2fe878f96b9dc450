"""Layout or a change: `becalm compare --layouts` and a comparison of one pair of builds, on relinks of one program.

    python bench/layouts.py                  100 equal and 20 slower pairs for each way; the next start goes on
    python bench/layouts.py --seconds 600    go on for ten minutes
    python bench/layouts.py --report         the table of what was done so far

Every trial links the program anew, with its functions in an order that no other trial has. In equal trials the old and
the new program have the same object files; in the others one function takes so much longer that the whole takes SLOWER
longer. Each trial is on disk when the next begins. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("python",))

from campaign import OUT, Log, Record, becalm_command, conclude, describe, percent, share, table, work_off

PARTS = (*range(6), *range(10, 50))
LAYOUTS = 10
SLOWER = 0.1
MORE = 17
"""The percentage by which the long loop does more, so that the whole takes about SLOWER longer."""

TURNS = 600
WAYS = ("layouts", "one pair")


def compiled(place: Path, more: int) -> Path:
    """Return the folder with the object files of a program, one for each function, compiled once."""
    folder = place / f"objects{more}"
    if not folder.exists():
        folder.mkdir()
        source = str(Path(__file__).with_name("layouts.c"))
        for part in PARTS:
            flags = ["-O2", f"-DPART={part}", f"-DMORE={more}"]
            subprocess.run(["cc", *flags, "-c", "-o", str(folder / f"{part}.o"), source], check=True)
    return folder


def link(folder: Path, seed: str, target: Path) -> None:
    """Link the program with its functions in the order of a seed."""
    objects = sorted(map(str, folder.glob("*.o")))
    random.Random(seed).shuffle(objects)
    subprocess.run(["cc", "-o", str(target), *objects], check=True)


def build(folder: Path, first: int) -> str:
    """Return the command that links the program for `compare --layouts`; `first` is a part of the seed."""
    words = [sys.executable, str(Path(__file__).resolve()), "--link", str(folder)]
    return f"{shlex.join(words)} {first}.{{seed}} {{build}}/program"


def trial(way: str, slower: bool, number: int, place: Path) -> Record:
    """Compare two programs whose layouts are new, in one of the two ways."""
    folders = [compiled(place, 0), compiled(place, MORE if slower else 0)]
    firsts = [2 * number + 1, 2 * number + 2]
    words = ["compare", "--no-store", "--json", "--no-load"]
    if way == "layouts":
        builds = [build(folder, first) for folder, first in zip(folders, firsts, strict=True)]
        words += ["--layouts", str(LAYOUTS), "--old-build", builds[0], "--new-build", builds[1], "--budget", "20s"]
        words += [f"{{build}}/program {TURNS}"]
    else:
        programs = [place / f"{way}{side}" for side in ("old", "new")]
        for folder, first, program in zip(folders, firsts, programs, strict=True):
            link(folder, f"{first}.0", program)
        words += ["--budget", "5s", *(f"'{program}' {TURNS}" for program in programs)]
    begun = time.monotonic()
    done = subprocess.run([*becalm_command(), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"becalm compare ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    result = json.loads(done.stdout)
    difference = result["difference"] if way == "layouts" else result["differences"][0]
    return {
        "way": way, "slower": slower, "estimate": difference["estimate"], "low": difference["low"],
        "high": difference["high"], "answer": difference["answer"], "layout_sd": result.get("layout_sd"),
        "wall_s": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def is_called(record: Record) -> bool:
    """Return whether the programs were called different."""
    return record["answer"] in ("slower", "faster")


def is_false_alarm(record: Record) -> bool:
    """Return whether layouts called equal programs different."""
    return record["way"] == "layouts" and not record["slower"] and is_called(record)


def plan(equal: int, slower: int, seed: int) -> list[tuple[str, bool]]:
    """Return the way and the kind of each trial, mixed."""
    cells = [(way, kind) for way in WAYS for kind in (*[False] * equal, *[True] * slower)]
    random.Random(seed).shuffle(cells)
    return cells


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    names = {"layouts": f"`--layouts {LAYOUTS}`", "one pair": "one pair of builds"}
    rows = []
    for way, name in names.items():
        own = [record for record in result["records"] if record["way"] == way]
        equal = [record for record in own if not record["slower"]]
        slower = [record for record in own if record["slower"]]
        seconds = sum(record["wall_s"] for record in own) / max(1, len(own))
        rows.append([
            name, share(sum(map(is_called, equal)), len(equal)),
            share(sum(record["answer"] == "slower" for record in slower), len(slower)), f"{seconds:.0f} s",
        ])  # fmt: skip
    head = ["", "equal programs called different", f"{percent(SLOWER, 0)} slower, found", "time, builds included"]
    spreads = sorted(record["layout_sd"] for record in result["records"] if record["layout_sd"] is not None)
    middle = f"Layout moved a build by ±{percent(spreads[len(spreads) // 2])} (standard deviation). " if spreads else ""
    return f"{describe(result['machine'])}\n\n{middle}Two programs of 10 ms:\n\n{table(head, rows)}"


def trials(log: Log, cells: Sequence[tuple[str, bool]], place: Path, seconds: float) -> Iterator[Callable[[], Record]]:
    """Yield what is left to do, as long as there is time."""
    begun = time.monotonic()
    for number, (way, slower) in list(enumerate(cells))[len(log.records) :]:
        if seconds and time.monotonic() - begun > seconds:
            return
        yield partial(trial, way, slower, number, place)


def main() -> int:
    """Run the command; the exit code is 1 when layouts called equal programs different."""
    parser = argparse.ArgumentParser(description="Compare relinks of one program.")
    parser.add_argument("--out", type=Path, default=OUT / "layouts.jsonl", help="the log of trials, which goes on")
    parser.add_argument("--equal", type=int, default=100, help="equal pairs for each way")
    parser.add_argument("--slower", type=int, default=20, help="slower programs for each way")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0 is never")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a few pairs: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table only")
    parser.add_argument("--link", nargs=3, metavar=("FOLDER", "SEED", "TARGET"), help="link one program, and no more")
    options = parser.parse_args()
    if options.link:
        folder, seed, target = options.link
        link(Path(folder), seed, Path(target))
        return 0
    if options.quick:
        options.out, options.equal, options.slower = options.out.with_name("layouts-quick.jsonl"), 4, 1
    if not options.report:
        sizes = {"equal": options.equal, "slower": options.slower, "seed": options.seed}
        log, cells = Log(options.out, sizes), plan(options.equal, options.slower, options.seed)
        with tempfile.TemporaryDirectory(prefix="becalm-layouts-bench-") as directory:
            work_off(trials(log, cells, Path(directory), options.seconds), log, len(cells) - len(log.records))
    return conclude(options.out, options.out.with_suffix(".json"), report, is_false_alarm)


if __name__ == "__main__":
    sys.exit(main())
