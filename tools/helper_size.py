"""Count the lines of ours that `becalm-helper` is made of: `python tools/helper_size.py`.

Every file that the compiler read for it counts, whole but for its tests; cargo says which these are.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def sources(dependencies: str, root: Path = ROOT) -> list[Path]:
    """Return our files in what rustc wrote of dependencies (a makefile's rules)."""
    words = (word for line in dependencies.splitlines() for word in line.partition(": ")[2].split())
    paths = {(root / word).resolve() for word in words if word.endswith(".rs")}
    return sorted(path for path in paths if path.is_relative_to(root / "crates"))


def lines(text: str) -> tuple[int, int]:
    """Return all lines of a file without its tests, and those that are code."""
    body = text.partition("#[cfg(test)]\nmod tests")[0].splitlines()
    code = [line for line in body if line.strip() and not line.strip().startswith("//")]
    return len(body), len(code)


def main() -> None:
    """Print the sum, and with a word the files."""
    target = ROOT / "target/helper-size"
    command = ["cargo", "check", "-q", "--locked", "-p", "becalm-helper", "--bin", "becalm-helper"]
    # What an earlier run counted may have moved to another crate.
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run([*command, "--target-dir", str(target)], cwd=ROOT, check=True)
    files = {path for file in target.glob("debug/deps/*becalm_*.d") for path in sources(file.read_text())}
    counted = {path: lines(path.read_text()) for path in files if not path.name.endswith("_tests.rs")}
    for path, (all_, code) in sorted(counted.items(), key=lambda count: -count[1][0]):
        if sys.argv[1:]:
            print(f"{all_:6} {code:6} {path.relative_to(ROOT)}")
    print(f"{sum(count[0] for count in counted.values())} lines, {sum(count[1] for count in counted.values())} of code")


if __name__ == "__main__":
    main()
