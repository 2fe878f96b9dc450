"""The public interface of becalm-clock, held in crates/becalm-clock/api.txt: what changes there is seen in a review.

    python tools/interface.py               # exit code 1, and the lines, when it is another one
    python tools/interface.py --renew       # write it as it is

Read from what rustdoc writes for people, which is stable Rust; private modules have no page. A tool that compares
versions (cargo-semver-checks) needs one that is published; until then a line that goes, or changes, breaks programs.
"""

from __future__ import annotations

import difflib
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CRATE = "becalm-clock"
KEPT = ROOT / "crates" / CRATE / "api.txt"


def main() -> int:
    """Compare, or renew."""
    document = ["cargo", "doc", "-q", "-p", CRATE, "--no-deps", "--locked", "--all-features"]
    if subprocess.run(document, cwd=ROOT, check=False).returncode != 0:
        return 1
    present = "".join(f"{line}\n" for line in interface(ROOT / "target/doc" / CRATE.replace("-", "_")))
    if "--renew" in sys.argv[1:]:
        KEPT.write_text(present, encoding="utf-8")
        return 0
    recorded = KEPT.read_text(encoding="utf-8")
    if present == recorded:
        return 0
    name = str(KEPT.relative_to(ROOT))
    sys.stdout.writelines(
        difflib.unified_diff(recorded.splitlines(True), present.splitlines(True), name, "the crate", n=0)
    )
    print(
        f"{CRATE} has another public interface. If that is meant: python tools/interface.py --renew, and a file in "
        "newsfragments."
    )
    return 1


def interface(pages: Path) -> list[str]:
    """Return a line for each public item, method, and trait of a type, sorted."""
    listed = re.findall(r'<li><a href="([^"]+)">([^<]+)</a>', _read(pages / "all.html"))
    lines = {
        f"becalm_clock: {match}" for match in re.findall(r"<code>(pub use .*?)</code>", _read(pages / "index.html"))
    }
    for page, name in listed:
        lines.update(f"{name}: {declaration}" for declaration in _declared(_read(pages / page)))
    return sorted(text(line) for line in lines)


def _declared(page: str) -> Iterator[str]:
    """Yield the declarations of a page: the item, its public methods, and the traits that it implements."""
    yield from re.findall(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', page, re.DOTALL)[:1]
    # Behind this stand traits that the compiler adds, and those of everything.
    own = page.split('id="synthetic-implementations"')[0].split('id="blanket-implementations"')[0]
    headers = re.findall(r'<h[34] class="code-header">(.*?)</h[34]>', own, re.DOTALL)
    shown = (header for header in headers if text(header).startswith(("pub ", "impl")) and not _inherent(text(header)))
    yield from (bar for bar in shown if "StructuralPartialEq" not in bar)


def _inherent(header: str) -> bool:
    return header.startswith("impl") and " for " not in header


def text(markup: str) -> str:
    """Return the text of markup as one line, without comments."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r'<span class="comment">.*?</span>', "", markup)))
    return re.sub(r"\s+", " ", plain).replace("{ }", "{ … }").strip()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
