"""The parts that all benches share: a description of the machine, a log of trials that survives Ctrl-C, and tables.

A bench is a list of small trials in random order. Each finished trial is one line of a JSON Lines file, so a campaign
may be stopped and resumed at any moment; the summary is always computed again from the lines. The first line holds
the configuration and the machine, and a log is never continued under another configuration.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"
Record = dict[str, Any]


def machine() -> dict[str, Any]:
    """Return CPU model, cores, kernel, distribution, Python, load and date, which are printed with every result."""
    model = next((v for k, v in _pairs(Path("/proc/cpuinfo"), ":") if k == "model name"), platform.machine())
    flags = next((v for k, v in _pairs(Path("/proc/cpuinfo"), ":") if k == "flags"), "")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "virtual": "hypervisor" in flags.split(),
        "kernel": platform.release(),
        "system": dict(_pairs(Path("/etc/os-release"), "=")).get("PRETTY_NAME", "Linux").strip('"'),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def command() -> str:
    """Return the command line of this process as a person would type it in the project's folder."""
    return shlex.join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def begun() -> Record:
    """Return the fields that every result begins with: the machine, and the command."""
    return {"machine": machine(), "command": command()}


def _pairs(path: Path, separator: str) -> list[tuple[str, str]]:
    """Return the lines `key<separator>value` of a file; none when it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [(k.strip(), v.strip()) for k, _, v in (line.partition(separator) for line in lines)]


def describe(facts: Mapping[str, Any]) -> str:
    """Describe the machine in one sentence."""
    cores = f"{facts['cores']} {'virtual ' if facts['virtual'] else ''}CPUs"
    return (
        f"{facts['cpu']}, {cores}, {facts['system']}, kernel {facts['kernel']}, Python {facts['python']}, "
        f"load {facts['load']} at the start, {facts['date']}"
    )


class Log:
    """Trials of one campaign, one JSON object a line, the configuration first.

    Raises SystemExit with a sentence when the file holds trials of another configuration.
    """

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self.header, self.records = read_log(path)
            differing = [k for k in config if self.header["config"].get(k) != config[k]]
            if differing:
                raise SystemExit(
                    f"{path} holds trials made with another {', '.join(differing)}; it was left as it is. "
                    "Name another file with --out, or remove this one to start again."
                )
            # A line cut short by a kill is left out by read_log; end it, so that the next one starts afresh.
            if not path.read_bytes().endswith(b"\n"):
                self._write("\n")
        else:
            self.header = {"config": dict(config), **begun()}
            self.records = []
            self._write(json.dumps(self.header) + "\n")

    def add(self, record: Record) -> None:
        """Keep one finished trial."""
        self.records.append(record)
        self._write(json.dumps(record) + "\n")

    def _write(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)


def read_log(path: Path) -> tuple[Record, list[Record]]:
    """Return the configuration with the machine, and the trials, of a log. Raises SystemExit when there is none."""
    values = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SystemExit(f"There are no trials to report: {path}: {error.strerror}. Run the bench first.") from None
    for line in lines:
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    if not values or "config" not in values[0]:
        raise SystemExit(f"{path} is not a log of trials: its first line holds no configuration.")
    return values[0], values[1:]


def work_off(todo: Iterable[Callable[[], Record]], log: Log, total: int) -> None:
    """Run trials and keep each; Ctrl-C ends early with everything finished kept. `total` is for the display only."""
    begun = time.monotonic()
    try:
        for done, trial in enumerate(todo, start=1):
            log.add(trial())
            spent = time.monotonic() - begun
            left = spent / done * (total - done)
            print(f"\r{done}/{total} trials, {spent:.0f} s, about {left:.0f} s left ", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"\nStopped. {log.path} keeps what was measured; the same command goes on from there.", file=sys.stderr)
    else:
        print(file=sys.stderr)


def save(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result as indented JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def conclude(log: Path, result_path: Path, report: Callable[[Record], str], is_bad: Callable[[Record], bool]) -> int:
    """Save and print the result of a log, and its last bad trials. Return the exit code: 1 when there are any."""
    header, records = read_log(log)
    result = {**header, "records": records}
    save(result_path, result)
    print(report(result))
    bad = [record for record in records if is_bad(record)]
    for record in bad[-10:]:
        print(record)
    return int(bool(bad))


def saved(path: Path) -> Record:
    """Return a result that `save` wrote. Raises SystemExit with a sentence when there is none."""
    try:
        result: Record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SystemExit(f"There is nothing to report: {path}: {error.strerror}. Run the bench first.") from None
    return result


def becalm_command() -> list[str]:
    """Return the command of the installed `becalm`: next to this Python, else in PATH, else `python -m` with the source
    tree."""
    alongside = Path(sys.executable).parent / "becalm"
    path = str(alongside) if os.access(alongside, os.X_OK) else shutil.which("becalm")
    return [path] if path else [sys.executable, "-m", "becalm"]


def versions() -> dict[str, str]:
    """Return the versions of the tools that are compared."""
    from becalm._version import VERSION

    try:
        done = subprocess.run(["hyperfine", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(
            f"hyperfine is needed and cannot be run: {error}. On Debian: apt-get install hyperfine"
        ) from None
    return {"becalm": VERSION, "hyperfine": done.stdout.split()[-1], "pyperf": metadata.version("pyperf")}


@dataclass(frozen=True)
class Finished:
    """A command that has ended: its whole wall time in seconds and its output."""

    wall_s: float
    stdout: str
    stderr: str


def timed(argv: Sequence[str], directory: str | None = None) -> Finished:
    """Run a command to its end, in a directory. Raises SystemExit with its last words when it fails."""
    # An installed package has its byte code next to it. Where the environment forbids to write it, every start would
    # compile everything again, which no user sees.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    begun = time.monotonic()
    with subprocess.Popen(
        argv,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        stdout, stderr = process.communicate()
    wall = time.monotonic() - begun
    if process.returncode != 0:
        words = (stderr or stdout).strip()[-1000:]
        raise SystemExit(f"\n{argv[0]} ended with {process.returncode}: {words}\nThe command was: {' '.join(argv)}")
    return Finished(wall, stdout, stderr)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a binomial share (Clopper and Pearson 1934, Biometrika 26, by the beta
    distribution)."""
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} of {trials} is not a share")
    # Imported here: scale.py measures the memory of a process that imports this file, and this would add 60 MB.
    from scipy import stats

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(stats.beta.ppf(tail, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(stats.beta.ppf(1 - tail, hits + 1, trials - hits))
    return low, high


def percent(value: float, digits: int = 1) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * value:.{digits}f} %"


def share(hits: int, trials: int) -> str:
    """Format a share as in "3 of 60: 5.0 % (1.0 to 13.9 %)", with the Clopper-Pearson interval."""
    if trials == 0:
        return "none"
    low, high = clopper_pearson(hits, trials)
    return f"{hits} of {trials}: {percent(hits / trials)} ({100 * low:.1f} to {percent(high)})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; columns after the first are right-aligned."""
    ruler = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [list(header), ruler, *map(list, rows)])
