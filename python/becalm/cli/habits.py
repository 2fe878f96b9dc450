"""Options of hyperfine, and their names in becalm."""

from __future__ import annotations

from collections.abc import Collection, Mapping

MEANT: Mapping[str, str] = {
    "-w": "--warmup N",
    "-r": "--runs N",
    "-m": "--runs N (or --budget, which ends as soon as the answer is known)",
    "-M": "--runs N (or --budget, which ends as soon as the answer is known)",
    "--min-runs": "--runs N (or --budget, which ends as soon as the answer is known)",
    "--max-runs": "--runs N (or --budget, which ends as soon as the answer is known)",
    "-p": "--prepare CMD",
    "-c": "--cleanup CMD",
    "-C": "--cleanup CMD",
    "-s": "--setup CMD",
    "-i": "--expect any",
    "--ignore-failure": "--expect any",
    "-L": "--parameter NAME=1,2,4",
    "--parameter-list": "--parameter NAME=1,2,4",
    "--parameter": "--parameter NAME=1,2,4",
    "-P": "--parameter NAME=1..8",
    "--parameter-scan": "--parameter NAME=1..8",
    "-D": "--parameter NAME=1..8..2",
    "--parameter-step-size": "--parameter NAME=1..8..2",
    "-u": "--time-unit ms",
    "-n": "--name NAME",
    "--command-name": "--name NAME",
    "-N": "how programs are started anyway: without a shell, unless --shell asks for one",
    "-S": "--shell-program CMD, or --shell for /bin/sh; without them no shell is used",
    "--show-output": "--output inherit",
    "--export-json": "--report FILE.json, or afterwards: becalm export --format hyperfine",
    "--export-markdown": "--report FILE.md",
    "--export-csv": "afterwards: becalm export --format csv",
    "--style": "--plain, or --quiet",
}


def meant(option: str, options: Collection[str]) -> str:
    """Return the replacement for an option of hyperfine in a command with these options; empty for other options."""
    name = option.partition("=")[0]
    if name not in MEANT:
        return ""
    here = MEANT[name].split()[0].rstrip(",")
    elsewhere = here.startswith("--") and here not in options
    return f" `becalm compare` has it: {MEANT[name]}." if elsewhere else f" Here it is {MEANT[name]}."
