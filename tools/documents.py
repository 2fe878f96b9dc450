"""Put into the documents what becalm itself gives: tables of the reference, and what the examples of tutorials print.

    python tools/documents.py            # renew all blocks
    python tools/documents.py --check    # name those that are not what becalm gives now; exit code 1

A block stands between `<!-- becalm-table NAME -->` and `<!-- /becalm-table -->` (tools/reference.py has the names), or
between `<!-- becalm-session -->` and `<!-- /becalm-session -->`, with command lines behind a `$` (tools/session.py). It
is part of the document, so that it is there for whoever reads the file; tests hold it to what becalm gives.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import reference
import session

DOCS = Path(__file__).parent.parent / "docs"

BLOCK = re.compile(
    r"(?P<head><!-- becalm-(?P<kind>table|session)(?: (?P<name>[\w-]+))? -->\n)(?P<body>.*?)"
    r"(?P<end><!-- /becalm-(?P=kind) -->)",
    re.DOTALL,
)


def blocks(kind: str) -> Iterator[tuple[Path, str, str]]:
    """Yield each block of a kind: its document, the name of its table (empty for a session), and what is in it."""
    for document in sorted(DOCS.rglob("*.md")):
        for match in BLOCK.finditer(document.read_text(encoding="utf-8")):
            if match["kind"] == kind:
                yield document, match["name"] or "", match["body"]


def table(name: str) -> str:
    """Return what a block of this table holds. Raises KeyError for a name that is no table's."""
    return f"\n{reference.TABLES[name]().strip()}\n\n"


def replayed(body: str) -> str:
    """Return what the block of a session holds, from the commands in it. Raises ValueError as `session.played` does."""
    commands = "\n".join(line for line in body.splitlines() if line.startswith("$ "))
    return f"```text\n{session.played(commands)}\n```\n"


SEARCH = re.compile(r"^\$ becalm tune (?!.*--try)", re.MULTILINE)
HEADING = re.compile(r"[A-Z][A-Za-z ]{2,40}")


def comparable(body: str) -> str:
    """Return the part of a session's block that is the same on every processor.

    numpy computes logarithms by other instructions on a processor with AVX-512, and their last bits decide which of two
    equally good trials a search goes on from. So of a search only the commands and the headings of tables are compared.
    """
    if not SEARCH.search(body):
        return body
    return "\n".join(line for line in body.splitlines() if line.startswith("$ ") or HEADING.fullmatch(line))


def renewed(text: str, play: Callable[[str], str] = replayed) -> str:
    """Return a document with all its blocks as becalm gives them now."""

    def block(match: re.Match[str]) -> str:
        body = table(match["name"]) if match["kind"] == "table" else play(match["body"])
        return f"{match['head']}{body}{match['end']}"

    return BLOCK.sub(block, text)


def _refreshed(body: str) -> str:
    """Return the block of a session from its commands, or as it is where only a processor would make it differ."""
    new = replayed(body)
    return body if comparable(new) == comparable(body) else new


def main() -> int:
    """Renew or check all documents; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    chosen, code = parser.parse_args(), 0
    for document in sorted(DOCS.rglob("*.md")):
        text = document.read_text(encoding="utf-8")
        new = renewed(text, _refreshed)
        if new == text:
            continue
        code = int(chosen.check)
        print(f"{document}: {'differs' if chosen.check else 'renewed'}")
        if not chosen.check:
            document.write_text(new, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
