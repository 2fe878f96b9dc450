"""becalm next to its peers on data that others recorded and published.

    python bench/replay.py DIR                          # all rows, minutes
    python bench/replay.py DIR change_points history    # some; the others keep their last results
    python bench/replay.py DIR --quick                  # shows in seconds that they work; kept apart
    python bench/replay.py --report                     # what is kept

DIR has one folder for each public set; the help of each row names the set's repository, commit and layout:

    python bench/replay.py --sources

Peers are part of the extra: pip install 'becalm[replay]'. A peer that is not installed is reported as that. Rules were
chosen on one half of the series of each set, which the name of a series decides (`replay_rows.figures.chosen`), and
judged on the other.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from campaign import OUT, begun, describe, save
from replay_rows import ROWS
from replay_rows.figures import markdown

RESULT = OUT / "replay.json"


def parts(result: Mapping[str, Any]) -> Mapping[str, str]:
    """Return each row that has a result as Markdown, in the order of `ROWS`: the text of its block of the page."""
    return {
        name: f"{markdown(row['tables'])}\n\n{row['seconds']:.0f} s on {describe(row['machine'])}."
        for name in ROWS
        if (row := result["rows"].get(name))
    }


def report(result: Mapping[str, Any]) -> str:
    """Return all rows that have a result as Markdown."""
    return "\n\n".join(parts(result).values())


def sources() -> str:
    """Return what each row says of its data."""
    return "\n\n".join(f"{name}: {(import_module(f'replay_rows.{name}').__doc__ or '').strip()}" for name in ROWS)


def main() -> int:
    """Replay the rows, keep and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DIR", help="the folder of the public sets")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"only these: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="show that it works")
    parser.add_argument("--sources", action="store_true", help="name the public source and layout of each set")
    parser.add_argument("--report", action="store_true", help="print what is kept")
    parser.add_argument("--out", type=Path, default=RESULT, help="the file with the results")
    chosen = parser.parse_intermixed_args()
    if chosen.sources:
        print(sources())
        return 0
    out = chosen.out.with_name(f"quick_{chosen.out.name}") if chosen.quick else chosen.out
    result: dict[str, Any] = {"command": "python bench/replay.py DIR", "rows": {}}
    if out.exists():
        result = json.loads(out.read_text(encoding="utf-8"))
    if chosen.report:
        print(report(result))
        return 0
    if chosen.data is None or not chosen.data.is_dir():
        parser.error("name the folder of the public sets; --sources lists them")
    if unknown := [name for name in chosen.rows if name not in ROWS]:
        parser.error(f"there is no row {unknown[0]!r}; there are {', '.join(ROWS)}")
    for name in chosen.rows or ROWS:
        print(f"{name} …", file=sys.stderr)
        start = time.monotonic()
        tables = import_module(f"replay_rows.{name}").replay(chosen.data, chosen.quick)
        row = {"machine": begun()["machine"], "seconds": time.monotonic() - start}
        result["rows"][name] = {**row, "tables": [table.json() for table in tables]}
        save(out, result)
        print(markdown(result["rows"][name]["tables"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
