"""Spread of real programs on a machine that is disturbed from inside: untouched, with two lists, and as becalm found.

    python bench/disturbed.py                    # as root; programs from Debian: hmmer lame git gcc
    python bench/disturbed.py --programs git gcc --budget 60 --loops 6
    python bench/disturbed.py --report

This is `bench/steady.py` next to bursts of CPU hogs, of loopback traffic and of page-cache churn
(`bench/disturbance.py`). Settings that were searched under the bursts of one seed are measured under those of another,
on fresh runs, with all arms in random order in each loop. No run of the search is in the table. Last, each program is
measured without bursts: the variation that remains then does not come from them.

In a guest (`bench/disturbed_guest.py`) the bursts are those of `bench/bursts.c`, which runs next to each program and
draws new ones each time.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import steady
from campaign import OUT, Record, timed
from disturbance import disturbed
from loop import compile_c
from steady import LISTS, OURS, PROGRAMS, UNTOUCHED

WANTED_RATIO = 4.0

PARTS = {"gcc": ("cc1", "as")}
"""Programs that others start by themselves, as `gcc -print-prog-name` finds them: a guest has to have them."""


def disturbance(directory: Path, seed: int, phase: int) -> AbstractContextManager[object]:
    """Return the disturbance of the search (0) or of the reported measurement (1), which never have the same bursts."""
    return disturbed(2 * seed + phase, directory)


def guest(host: str, name: str, directory: Path) -> list[str]:
    """Return the options of `becalm tune` for a program in a guest: the files that it needs, and the bursts next to
    it."""
    compile_c(Path(__file__).with_name("bursts.c"), directory / "bursts", "-static", "-lm")
    parts = [timed(["gcc", f"-print-prog-name={part}"]).stdout.strip() for part in PARTS.get(name, ())]
    if parts:
        parts.append("/usr/include/stdc-predef.h")
    files = ":".join([str(directory), *(shutil.which(part) or part for part in parts)])
    return [
        "--host",
        f"{host}{'&' if '?' in host else '?'}files={files}",
        "--alongside",
        f"{directory}/bursts /var/tmp",
    ]


def trial(name: str, chosen: argparse.Namespace) -> Record:
    """Search for one program under the bursts of one seed and measure it under those of another."""
    if chosen.host:
        return steady.trial(name, chosen, where=partial(guest, chosen.host, name))
    # On the disk, not in memory: pages of a tmpfs cannot be forgotten.
    with tempfile.TemporaryDirectory(prefix="becalm-disturbance-", dir="/var/tmp") as place:
        return steady.trial(name, chosen, partial(disturbance, Path(place), chosen.seed), undisturbed=True)


def spreads(record: Record) -> dict[str, Record]:
    """Return the interval of each arm's spread, by its name; becalm's is that of the baseline where it recommended
    nothing."""
    result = {steady.NAMES.get(arm["name"], arm["name"]): arm["spread"] for arm in record["tried"]["arms"]}
    if record["first"] != OURS:
        # `--try` calls the first list "tuned" where there is nothing of becalm's before it.
        result[record["first"]] = result.pop(OURS, result.get(record["first"]))
        result[OURS] = result[UNTOUCHED]
    return result


def shown_worse(ours: Record, other: Record) -> bool:
    """Return whether a spread is shown to be the larger: the 95 % interval of their ratio is above 1.

    The arms' runs are independent, so that squares of the half-widths of both logarithms add.
    """
    if None in (ours["low"], other["high"]):
        return False
    half = math.hypot(math.log(ours["value"] / ours["low"]), math.log(other["high"] / other["value"]))
    return math.log(ours["value"] / other["value"]) > half


def most(record: Record) -> float | None:
    """Return how many times as steady the untouched program is without any bursts; None where that is not known.

    Settings that keep all bursts away, and nothing else, reach that.
    """
    alone = steady.quiet(record).get(UNTOUCHED)
    return None if alone is None else float(spreads(record)[UNTOUCHED]["value"] / alone["value"])


def judged(rows: Sequence[Record]) -> list[str]:
    """Report for each goal of the project whether it is met. "No worse": the value of becalm's spread is not the
    larger.

    Of arms that do the same, it is mostly chance whose value is that; so it is said, too, of how many becalm's is shown
    to be the larger.
    """
    every = [spreads(record) for record in rows]
    steadier = sum(record[UNTOUCHED]["value"] >= WANTED_RATIO * record[OURS]["value"] for record in every)
    least = [min(record[name]["value"] for name in LISTS if name in record) for record in every]
    no_worse = sum(arms[OURS]["value"] <= best for arms, best in zip(every, least, strict=True))
    worse = [
        record["program"]
        for record, arms in zip(rows, every, strict=True)
        if any(shown_worse(arms[OURS], arms[name]) for name in LISTS if name in arms)
    ]
    wanted = -(-len(every) * 4 // 5)
    times = {record["program"]: intervals for record in rows if (intervals := most(record)) is not None}
    bursts = [
        "untouched, but without any bursts, they would be "
        + ", ".join(f"{arms:.1f} ({name})" for name, arms in times.items())
        + " times as steady"
    ]
    return [
        f"{WANTED_RATIO:g} times as steady as untouched: {steadier} of {len(every)} programs, wanted {wanted}: "
        + ("met" if steadier >= wanted else "not met"),
        f"no worse than the better of {' and '.join(LISTS)} by value: {no_worse} of {len(every)}, wanted all: "
        + ("met" if no_worse == len(every) else "not met"),
        f"shown to be worse than one of them (95 %): {len(worse)} of {len(every)}"
        + (f" ({', '.join(worse)})" if worse else ""),
        *(bursts if times else []),
    ]


def report(result: Record) -> str:
    """Format the result as `bench/steady.py` does, with the machine, the loops, and becalm's own report."""
    return steady.report(result)


def options(text: str | None, usual: Mapping[str, object]) -> argparse.Namespace:
    """Parse the command line of a bench with this description, with other default values for some options."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--budget", type=int, default=120, help="seconds of a search")
    parser.add_argument("--loops", type=int, default=20)
    parser.add_argument("--runs", type=int, help="in a row; becalm's own without it: 5, or as many as last a second")
    parser.add_argument("--dangerous", action="store_true", help="let becalm try dangerous settings, too")
    parser.add_argument("--host", help="a guest, with cpus=2 or more and a disk; this machine without it")
    parser.add_argument("--less", type=int, default=1, help="divide what each program has to do: emulation is slow")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "disturbed.json", help="trials go to the same name, .jsonl")
    parser.add_argument("--quick", action="store_true", help="one program, briefly: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the trials so far")
    parser.set_defaults(**usual)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.programs, chosen.budget, chosen.loops = ["gcc"], 10, 4
        chosen.out = chosen.out.with_name(f"{chosen.out.stem}-quick.json")
    return chosen


def main(text: str | None = __doc__, usual: Mapping[str, object] | None = None) -> None:
    """Measure what is missing, then report."""
    result = steady.measured(options(text, usual or {}), trial)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
