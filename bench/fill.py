"""Put the results of the benches into docs/explanation/benchmarks.md, so that no figure there is typed by hand.

    python bench/fill.py

Each block between `<!-- NAME -->` and `<!-- /NAME -->` is replaced by what the bench NAME reports of
bench/out/NAME.json. Blocks whose bench has not been run stay as they are, and are named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path

from campaign import OUT

DOCUMENT = Path(__file__).parent.parent / "docs/explanation/benchmarks.md"
BENCHES = ("discriminate", "aa", "overhead", "scale", "steady", "startup")


def fill(text: str, name: str, body: str) -> str:
    """Replace the block of one bench. Raises SystemExit unless the document has exactly one such block."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    filled, found = pattern.subn(lambda block: f"{block[1]}{body}\n{block[2]}", text)
    if found != 1:
        raise SystemExit(f"{DOCUMENT.name} has {found} blocks <!-- {name} --> … <!-- /{name} -->, one is needed.")
    return filled


def put(document: Path, name: str, body: str) -> None:
    """Replace the block of one bench in a document. Raises SystemExit as `fill` does."""
    document.write_text(fill(document.read_text(encoding="utf-8"), name, body), encoding="utf-8")


def reported(name: str, source: Path) -> str:
    """The tables of one bench, and how they compare with what the project wants."""
    bench = importlib.import_module(name)
    result = json.loads(source.read_text(encoding="utf-8"))
    body = str(bench.report(result))
    if hasattr(bench, "judged"):
        body += "\n\n" + "\n".join(f"- {line.strip()}" for line in bench.judged(result["rows"]))
    return body


def main() -> None:
    """Fill every block that has a result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    parser.add_argument("--results", type=Path, default=OUT, help="where NAME.json are")
    chosen = parser.parse_args()
    text = chosen.document.read_text(encoding="utf-8")
    for name in BENCHES:
        source = chosen.results / f"{name}.json"
        if source.exists():
            text = fill(text, name, reported(name, source))
            print(f"{name}: filled from {source}")
        else:
            print(f"{name}: left as it is, there is no {source}; python bench/{name}.py makes it")
    chosen.document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
