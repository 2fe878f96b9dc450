"""The Rust that compiles becalm's programs, or a sentence for those who install becalm without one.

Public: target, stop.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NoReturn

INSTEAD = "becalm's wheels have its programs compiled and need no Rust: pip install becalm-VERSION-….whl"


def stop(sentence: str) -> NoReturn:
    """End with a sentence, which pip passes on."""
    sys.exit(f"\nbecalm: {sentence} {INSTEAD}\n")


def target(tree: Path, system: str = sys.platform) -> str:
    """Return the target of this machine's Rust. Ends with a sentence where becalm cannot be compiled."""
    if not system.startswith("linux"):
        sys.exit(f"\nbecalm: It measures programs on Linux, and this is {system}.\n")
    needed = tomllib.loads((tree / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    for name in ("cargo", "rustc"):
        if shutil.which(name) is None:
            stop(
                f"Rust is missing: {name} was not found, which compiles becalm's programs. Install Rust {needed} or "
                "newer with rustup or your distribution."
            )
    done = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=False)
    release = re.search(r"^release: (\d+)\.(\d+)", done.stdout, re.MULTILINE)
    host = re.search(r"^host: (\S+)", done.stdout, re.MULTILINE)
    if done.returncode or release is None or host is None:
        stop(f"Rust does not work here: rustc -vV failed. {done.stderr.strip()}")
    if [int(part) for part in release.groups()] < [int(part) for part in needed.split(".")]:
        stop(
            f"Rust {needed} or newer is needed, and rustc is {'.'.join(release.groups())}. "
            "Update it (rustup update), or install Rust with rustup."
        )
    return host[1]


if __name__ == "__main__":
    target(Path(__file__).parents[1])
