"""Spread of real programs: untouched, with llvm-tips, with pyperf's list, and with the settings that becalm found.

    python bench/steady.py                       # as root; programs from Debian: hmmer lame git gcc
    python bench/steady.py --programs lame gcc --budget 120 --loops 10
    python bench/steady.py --report

For each program `becalm tune` searches first. Then `becalm tune --try` measures its settings, the two lists and the
baseline, on fresh runs, interleaved in one run. Where the search found nothing, becalm has no settings. The time that a
search adds to its runs is the time between them, less that between the runs of a bare loop, which only starts the
program and waits for its end (`bench/between.c`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from pathlib import Path

from campaign import OUT, Log, Record, becalm_command, describe, read_log, save, table, timed, versions, work_off
from loop import compile_c

UNTOUCHED, OURS, LISTS = "untouched", "becalm", ("llvm-tips", "pyperf")
NAMES = {"baseline": UNTOUCHED, "tuned": OURS}

WANTED_ADDED = 0.01
PARTS = {"rows": "in a row", "switches": "where settings change", "start": "at the start"}
"""The places of the time between runs, in words."""

BARE_S, LEAST_BARE = 4.0, 10
"""Seconds, and least number of runs, of a bare loop."""

Made = tuple[list[str], str]
"""A command line, and the directory it runs in."""


def hmmer(directory: Path, less: int = 1) -> Made:
    """Make a profile of one made-up protein family against made-up proteins (hmmer of Debian)."""
    rng = random.Random(1)

    def protein(length: int) -> str:
        return "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=length))

    family = protein(120)
    mutants = ["".join(c if rng.random() < 0.7 else protein(1) for c in family) for _ in range(30)]
    (directory / "family.sto").write_text(
        "# STOCKHOLM 1.0\n" + "".join(f"s{i} {value}\n" for i, value in enumerate(mutants)) + "//\n"
    )
    timed(["hmmbuild", "--amino", "-o", "/dev/null", str(directory / "family.hmm"), str(directory / "family.sto")])
    with (directory / "proteins.fa").open("w") as file:
        for index in range(80_000 // less):
            file.write(f">p{index}\n{protein(200)}\n")
    return ["hmmsearch", "--cpu", "0", "-o", "/dev/null", "family.hmm", "proteins.fa"], str(directory)


def lame(directory: Path, less: int = 1) -> Made:
    """Make thirty seconds of noise and tones, to be encoded as MP3."""
    rng, rate = random.Random(2), 44_100
    samples = [
        int(8000 * math.sin(i * (0.02 + (i // rate) * 0.001)) + rng.gauss(0, 500)) for i in range(30 * rate // less)
    ]
    data = struct.pack(f"<{len(samples)}h", *(max(-32768, min(32767, sample)) for sample in samples))
    head = struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", len(data))  # fmt: skip
    (directory / "sound.wav").write_bytes(head + data)
    return ["lame", "--quiet", "sound.wav", "/dev/null"], str(directory)


def git(directory: Path, less: int = 1) -> Made:
    """Make the history of a made-up repository, to be printed with statistics of every commit."""
    tree = directory / "repository"
    timed(["git", "init", "-q", str(tree)])
    rng = random.Random(3)
    lines = [f"line {index}\n" for index in range(400)]
    for index in range(250 // less):
        for _ in range(20):
            lines[rng.randrange(len(lines))] = f"line {rng.random()}\n"
        (tree / "file.txt").write_text("".join(lines))
        timed(["git", "-C", str(tree), "add", "file.txt"])
        author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        timed(["git", "-C", str(tree), *author, "commit", "-q", "-m", f"change {index}"])
    return ["git", "log", "--stat", "--no-color"], str(tree)


def gcc(directory: Path, less: int = 1) -> Made:
    """Make one large C file, to be optimised."""
    functions = (
        f"int f{i}(int *a, int n) {{ int s = {i}; for (int j = 0; j < n; j++) s += a[j] * (s ^ {i * 7}); return s; }}"
        for i in range(150 // less)
    )
    (directory / "large.c").write_text("\n".join(functions))
    return ["gcc", "-O2", "-c", "-o", "/dev/null", "large.c"], str(directory)


def memory(directory: Path, less: int = 1) -> Made:
    """Make a program that follows random pointers through 256 MiB."""
    compile_c(Path(__file__).with_name("chase.c"), directory / "chase")
    return [str(directory / "chase"), str(64 // less), str(2_000_000 // less)], str(directory)


PROGRAMS: dict[str, tuple[str, Callable[[Path, int], Made]]] = {
    "hmmer": ("hmmsearch", hmmer),
    "lame": ("lame", lame),
    "git": ("git", git),
    "gcc": ("gcc", gcc),
    "memory": ("cc", memory),
}
"""The executable that each needs, and how it is made ready in a directory, with so many times less to do."""


def _alone(phase: int) -> AbstractContextManager[object]:
    return nullcontext()


def trial(
    name: str,
    chosen: argparse.Namespace,
    disturbance: Callable[[int], AbstractContextManager[object]] = _alone,
    where: Callable[[Path], Sequence[str]] = lambda _: (),
    undisturbed: bool = False,
    looped: bool = False,
) -> Record:
    """Search for one program's settings, then measure all lists next to each other.

    `disturbance`: what goes on meanwhile, of the search (0) and of what is measured then (1). `where`: more options of
    `becalm tune` for programs that are in this directory: on which host, and next to what. `undisturbed`: measure the
    program untouched and with the first of the settings once more, while nothing goes on. `looped`: run it in a bare
    loop, too.
    """
    with tempfile.TemporaryDirectory(prefix="becalm-steady-") as place:
        directory = Path(place)
        argv, there = PROGRAMS[name][1](directory, chosen.less)
        common = ["--store", str(directory / "runs.db"), "--directory", there, "--seed", str(chosen.seed), "--json"]
        common += where(directory)
        consent = ["--dangerous"] if chosen.dangerous else []
        tune = [*becalm_command(), "tune", *common, *consent]
        with disturbance(0):
            searched = timed([*tune, "--budget", f"{chosen.budget}s", "--", *argv])
        document = json.loads(searched.stdout)
        shown = timed([*becalm_command(), "show", "last", "--store", str(directory / "runs.db"), "--json"])
        tries = ["llvm-tips", "pyperf"]
        if document["settings"]:
            profile = directory / "becalm.toml"
            lines = [f"{knob} = {json.dumps(value)}" for knob, value in document["settings"].items()]
            profile.write_text('name = "becalm"\n[settings]\n' + "\n".join(lines) + "\n")
            tries.insert(0, str(profile))
        rounds = ["--confirm-loops", str(chosen.loops), "--budget", "none"]
        if chosen.runs is not None:
            rounds += ["--confirm-runs", str(chosen.runs)]
        measuring = [*tune, *rounds]
        with disturbance(1):
            tried = timed([*measuring, *(part for trial in tries for part in ("--try", trial)), "--", *argv])
        alone = json.loads(timed([*measuring, "--try", tries[0], "--", *argv]).stdout) if undisturbed else None
        return {
            "program": name,
            "argv": argv,
            "search": document,
            "search_s": searched.wall_s,
            "between": between_of(json.loads(shown.stdout)),
            "bare": bare_between(argv, there) if looped else None,
            "first": tries[0] if not document["settings"] else OURS,
            "tried": json.loads(tried.stdout),
            "quiet": alone,
        }


def between_of(study: Record) -> Record:
    """Return the time between the runs of a study over the time of the runs: `all` of it, and its parts.

    `start` is after the first run, when the study is planned and the noise floor looked at; `switches` where settings
    change and a search decides what comes next; `rows` between runs in a row. Starting becalm and concluding are not in
    it.
    """
    runs = [dict(zip(study["runs"]["columns"], row, strict=True)) for row in study["runs"]["rows"]]
    ran = sum(run["wall_ns"] for run in runs)
    sums = dict.fromkeys(PARTS, 0)
    for number, (result, other) in enumerate(pairwise(runs)):
        where = "start" if number == 0 else "rows" if result["settings"] == other["settings"] else "switches"
        sums[where] += other["started_ns"] - result["started_ns"] - result["wall_ns"]
    return {"all": sum(sums.values()) / ran, **{where: ns / ran for where, ns in sums.items()}}


def bare_between(argv: Sequence[str], there: str) -> float:
    """Return the same ratio for a bare loop: the time that every starter of programs needs between two runs."""
    with tempfile.TemporaryDirectory(prefix="becalm-between-") as place:
        loop = Path(place, "between")
        compile_c(Path(__file__).with_name("between.c"), loop, "-static")

        def sums(count: int) -> tuple[int, int]:
            ran, between = map(int, timed([str(loop), str(count), *argv], there).stdout.split())
            return ran, between

        first, _ = sums(1)
        ran, between = sums(max(LEAST_BARE, round(BARE_S * 1e9 / first)))
    return between / ran


def rows(record: Record) -> Iterator[list[str]]:
    """Return one row an arm: spread with interval, and how many times as steady as the baseline."""
    tried = record["tried"]
    against = {comparison["arm"]: comparison for comparison in tried["comparisons"]}
    mean_ms = next(arm["mean_ns"]["value"] for arm in tried["arms"] if NAMES.get(arm["name"]) == UNTOUCHED) / 1e6
    program = f"{record['program']} ({mean_ms:,.0f} ms)"
    for arm in tried["arms"]:
        name = record["first"] if arm["name"] == "tuned" else NAMES.get(arm["name"], arm["name"])
        spread = arm["spread"]
        cells = [program, name, _between(spread, 100, " %")]
        if (result := against.get(arm["name"])) is not None:
            shift = result["shift"]
            cells += [_between(result["ratio"], 1, ""), f"{100 * shift['value']:+.1f} %"]
        yield [*cells, *[""] * (5 - len(cells))]
    for alike in tried["findings"]:
        if alike["kind"] == "tried":
            numbers = alike["numbers"]
            why = f"the same settings as {numbers['same_as']}" if numbers["same_as"] else "nothing that can be set here"
            yield [program, numbers["name"], why, "", ""]
    for name, spread in quiet(record).items():
        yield [program, f"{name}, nothing next to it", _between(spread, 100, " %"), "", ""]
    if record["first"] != OURS:
        yield [program, OURS, "none recommended", "", ""]


def quiet(record: Record) -> dict[str, Record]:
    """Return the interval of each spread that was measured without disturbance; empty where none was."""
    arms = (record.get("quiet") or {"arms": []})["arms"]
    # There is one list of settings, which `--try` calls tuned.
    return {UNTOUCHED if arm["name"] == "baseline" else record["first"]: arm["spread"] for arm in arms}


def _between(interval: Record, scale: float, unit: str) -> str:
    low, high = interval["low"], interval["high"]
    ends = "" if low is None or high is None else f" ({scale * low:.2g} to {scale * high:.2g})"
    return f"{scale * interval['value']:.2g}{ends}{unit}"


def report(result: Record) -> str:
    """Format the machine, the table, and becalm's report on each program as Markdown."""
    config = result["config"]
    runs = f"{config['runs']} runs" if config["runs"] else "5 runs, or as many as last a second,"
    host = "" if config.get("host") is None else f" In {config['host']}, whose times are emulated."
    head = (
        f"Machine: {describe(result['machine'])}.{host} becalm {config['versions']['becalm']}. "
        f"{config['loops']} loops of {runs} in a row, all arms in random order in each loop; 95 % intervals.\n\n"
    )
    columns = ["Program", "Settings", "Spread", "Times as steady as the baseline", "Mean time"]
    body = table(columns, [row for record in result["rows"] for row in rows(record)])
    lines = [f"- {record['program']}: {_said(record)}" for record in result["rows"]]
    return head + body + "\n\n" + "\n".join(lines)


def _said(record: Record) -> str:
    """Return the result of the search in becalm's own words, and the reason where it found nothing."""
    verdict = record["search"]
    why = [
        finding["sentence"] for finding in verdict["findings"] if finding["kind"] in ("outside", "inside", "waiting")
    ]
    lines = verdict["sentence"].splitlines()
    runs = verdict["search_runs"] + verdict["confirm_runs"]
    between, bare = record["between"], record["bare"]
    cost = f"{runs} runs, {record['search_s']:.0f} s; {100 * between['all']:.1f} % of the runs' time between them"
    if bare is not None:
        parts = [f"{100 * between[where]:.1f} {name}" for where, name in PARTS.items()]
        cost += f": {', '.join(parts)}; in a bare loop {100 * bare:.1f} %"
    return f"{' '.join([*lines[:2], *why])} ({cost})"


def judged(rows: Sequence[Record]) -> list[str]:
    """Report whether a search's own cost meets the goal of the project."""
    added = {row["program"]: row["between"]["all"] - row["bare"] for row in rows if row["bare"] is not None}
    if not added:
        return []
    text = ", ".join(f"{100 * value:.2f} % ({name})" for name, value in added.items())
    met = "met" if max(added.values()) <= WANTED_ADDED else "not met"
    return [f"a search adds to the time of its runs, beyond a bare loop of them: {text}, wanted at most 1 %: {met}"]


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--budget", type=int, default=240, help="seconds of a search")
    parser.add_argument("--loops", type=int, default=20)
    parser.add_argument("--runs", type=int, help="in a row; becalm's own without it: 5, or as many as last a second")
    parser.add_argument("--dangerous", action="store_true", help="let becalm try dangerous settings, too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "steady.json", help="trials go to the same name, .jsonl")
    parser.add_argument("--quick", action="store_true", help="one program, briefly: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the trials so far")
    # What `bench/disturbed.py` lets people choose.
    parser.set_defaults(less=1, host=None)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.programs, chosen.budget, chosen.loops = ["gcc"], 10, 4
        chosen.out = chosen.out.with_name("steady-quick.json")
    return chosen


def measure(chosen: argparse.Namespace, of: Callable[[str, argparse.Namespace], Record]) -> None:
    """Run the trials that are not in the log yet; `of` is that of one program."""
    missing = [PROGRAMS[name][0] for name in chosen.programs if shutil.which(PROGRAMS[name][0]) is None]
    if missing:
        print(f"Not installed, left out: {', '.join(missing)}", file=sys.stderr)
    config = {
        **{name: getattr(chosen, name) for name in ("budget", "loops", "runs", "dangerous", "seed", "less", "host")},
        "versions": versions(),
    }
    log = Log(chosen.out.with_suffix(".jsonl"), config)
    done = {record["program"] for record in log.records}
    todo = [name for name in chosen.programs if name not in done and PROGRAMS[name][0] not in missing]
    work_off((partial(of, name, chosen) for name in todo), log, len(todo))


def measured(chosen: argparse.Namespace, of: Callable[[str, argparse.Namespace], Record]) -> Record:
    """Make the missing trials, unless only a report was asked for; save and return all trials."""
    if not chosen.report:
        measure(chosen, of)
    header, records = read_log(chosen.out.with_suffix(".jsonl"))
    if not records:
        raise SystemExit("No trial is finished yet.")
    result = {**header, "rows": records}
    save(chosen.out, result)
    return result


def main() -> None:
    """Measure what is missing, then report."""
    result = measured(options(), partial(trial, looped=True))
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
