"""Put the results of the benches into the documents, so that no figure there is typed by hand.

    python bench/fill.py

Each block between `<!-- NAME -->` and `<!-- /NAME -->` is replaced by what the bench NAME reports of
bench/out/NAME.json, after the command that was run; of a bench with `parts` each part has a block `<!-- NAME_PART -->`,
so that what was measured anew replaces no other part. Blocks whose bench has not been run stay as they are, and are
named. Simulations fill their blocks themselves, by `--document FILE`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path

from campaign import OUT, command, describe, machine

MODULES = {"kills_by_user": "kills"}
"""The modules of results that have not the name of one."""

DOCS = Path(__file__).parent.parent / "docs"
BENCHES = {
    **dict.fromkeys(("discriminate", "aa", "overhead", "scale", "steady", "startup"), "explanation/benchmarks.md"),
    **dict.fromkeys(
        ("observe", "interference", "holding", "late", "disturbed", "disturbed_guest"), "explanation/benchmarks.md"
    ),
    "explain": "how-to/explain.md",
    **dict.fromkeys(("culprit", "counting"), "how-to/culprit.md"),
    "gates": "how-to/check.md",
    **dict.fromkeys(("schedules", "memory_bound"), "how-to/at-once.md"),
    "where": "how-to/where.md",
    "layouts": "how-to/layouts.md",
    **dict.fromkeys(("tuning_guest", "published"), "how-to/speed.md"),
    **dict.fromkeys(("kills", "kills_by_user", "power_cuts"), "how-to/restore.md"),
    "clock": "explanation/clock.md",
    "replay": "explanation/replay.md",
    "tuning": "explanation/methods.md",
    "place": "explanation/placement.md",
    **dict.fromkeys(("sweetspots", "recording", "perf_data"), "explanation/sweetspots.md"),
    **dict.fromkeys(("simulate", "simulate_real"), "how-to/simulate.md"),
}
"""The document with the block of each bench that leaves a result."""


SUMMARIES = {"discriminate": "../README.md"}
"""The document with the block `<!-- NAME_SUMMARY -->` of a bench that has a `summary` of its result."""


def fill(text: str, name: str, body: str) -> str:
    """Replace the block of one bench. Raises SystemExit unless the text has exactly one such block."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    filled, count = pattern.subn(lambda block: f"{block[1]}{body}\n{block[2]}", text)
    if count != 1:
        raise SystemExit(f"There are {count} blocks <!-- {name} --> … <!-- /{name} -->, one is needed.")
    return filled


def put(document: Path, name: str, body: str) -> None:
    """Replace the block of a simulation in a document. Raises SystemExit as `fill` does."""
    date = machine()["date"].partition(" ")[0]
    body = f"```\n{command()}\n```\n{date}; nothing in it depends on the machine.\n\n{body}"
    document.write_text(fill(document.read_text(encoding="utf-8"), name, body), encoding="utf-8")


GOAL = re.compile(r", wanted [^:|]*(?=: (?:not )?met$)|: (?:not )?met$", re.MULTILINE)
"""The goal of the project at the end of a line that a bench prints, and whether it is met: not for the documents."""


def without_goals(text: str) -> str:
    """Return the text of a bench for the documents, which state results and no goals of the project."""
    return GOAL.sub("", text)


def reported(name: str, source: Path) -> str:
    """Return the tables of one bench, and its results in sentences."""
    bench = importlib.import_module(MODULES.get(name, name))
    result = json.loads(source.read_text(encoding="utf-8"))
    body = f"```\n{result['command']}\n```\n{bench.report(result)}"
    if hasattr(bench, "judged"):
        # Of the rows, or of the whole result where it has none.
        body += "\n\n" + "\n".join(f"- {line.strip()}" for line in bench.judged(result.get("rows", result)))
    return without_goals(body)


def blocks(name: str, source: Path) -> dict[str, str]:
    """Return the text of each block of one bench."""
    bench = importlib.import_module(MODULES.get(name, name))
    if not hasattr(bench, "parts"):
        return {name: reported(name, source)}
    result = json.loads(source.read_text(encoding="utf-8"))
    return {f"{name}_{part}": body for part, body in bench.parts(result).items()}


def summary(name: str, source: Path) -> str:
    """Return the short form of a result, with the machine and the date."""
    result = json.loads(source.read_text(encoding="utf-8"))
    body: str = importlib.import_module(name).summary(result)
    return f"{body}\n\n{describe(result['machine'])}."


def main() -> None:
    """Fill every block that has a result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, default=DOCS, help="the folder of the documents")
    parser.add_argument("--results", type=Path, default=OUT, help="where NAME.json are")
    chosen = parser.parse_args()
    for name, place in BENCHES.items():
        source, document = chosen.results / f"{name}.json", chosen.documents / place
        if source.exists():
            text = document.read_text(encoding="utf-8")
            for block, body in blocks(name, source).items():
                text = fill(text, block, body)
            document.write_text(text, encoding="utf-8")
            if name in SUMMARIES:
                short = chosen.documents / SUMMARIES[name]
                text = fill(short.read_text(encoding="utf-8"), f"{name}_summary", summary(name, source))
                short.write_text(text, encoding="utf-8")
            print(f"{name}: filled from {source}")
        else:
            print(f"{name}: left as it is, there is no {source}; python bench/{name}.py makes it")


if __name__ == "__main__":
    main()
