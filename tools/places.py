"""Places to touch for one more of each thing, counted by doing it.

    python tools/places.py                     # every family of the table in additions.py
    python tools/places.py "search method"     # one of them
    python tools/places.py --count             # only make the changes and count, in seconds
    python tools/places.py --list              # their names

Each addition is made in a copy of the tree: it writes its files there, as a person would by hand. Then the engine is
built if it was changed, the new thing is shown to work (a command prints what it must), and the family's own tests pass
with it in the table. What counts is the files that differ from the tree, less documents and the change log. Nothing of
this tree is changed. Exits 1 when one takes more places than it may, does not work, or fails a test.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from addition import Addition
from additions import TABLE

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target/places"
"""Where the engine of a copy is built, so that the next copy need not build its libraries again."""
LAST = 40
"""Lines of a failure that are shown."""


class Failed(Exception):
    """An addition does not do what it must; the text says what was seen."""


def called(words: list[str], tree: Path, environment: Mapping[str, str]) -> str:
    """What a command prints. Raises Failed with its last lines when it fails."""
    done = subprocess.run(
        words, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-LAST:])
        raise Failed(f"{' '.join(words)} ended with {done.returncode}:\n{last}")
    return done.stdout


def copied(tree: Path) -> None:
    """The files of this checkout as they are now, and what was built of them."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    built = ["python/becalm/becalm-agent", "python/becalm/tables.json"]
    for name in [*filter(None, names), *built]:
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def changed(tree: Path) -> list[str]:
    """Files of a tree that differ from this one or are new, less documents and what is built."""
    found = []
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        built = name.startswith("python/becalm/becalm-agent") or name.startswith("python/becalm/tables.json")
        ours = ROOT / name
        if (
            path.is_file()
            and not built
            and "__pycache__" not in path.parts
            and not name.startswith(("docs/", "CHANGELOG", "."))
            and not (ours.exists() and filecmp.cmp(ours, path))
        ):
            found.append(name)
    return found


def built(tree: Path, environment: Mapping[str, str]) -> None:
    """The agent of a tree, unoptimised, and the tables that the package carries."""
    called(["cargo", "build", "-q", "--locked", "-p", "becalm-agent", "--target-dir", str(TARGET)], tree, environment)
    package = tree / "python/becalm"
    shutil.copy2(TARGET / "debug/becalm-agent", package / "becalm-agent")
    (package / "tables.json").write_text(called([str(package / "becalm-agent"), "tables"], tree, environment))


def tried(addition: Addition, *, count: bool) -> list[str]:
    """Make one addition in a copy; its files. Raises Failed where it does not work, unless only to `count`."""
    with tempfile.TemporaryDirectory(prefix="places-") as directory:
        tree = Path(directory, "becalm")
        copied(tree)
        addition.make(tree)
        files = changed(tree)
        if count:
            return files
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BECALM_STORE": f"{directory}/becalm.db",
            "COLUMNS": "200",
        }
        if any(name.endswith(".rs") for name in files):
            built(tree, environment)
        for words, sign in addition.shown:
            said = called([sys.executable, "-m", "becalm", *words], tree, environment)
            if sign not in said:
                raise Failed(f"becalm {' '.join(words)} does not say {sign!r}:\n{said[-500:]}")
        if addition.cargo:
            cargo = ["cargo", "test", "-q", "--locked", "-p", "becalm-core", "--lib", "--target-dir", str(TARGET)]
            called([*cargo, addition.cargo], tree, environment)
        if addition.tests:
            pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *addition.tests]
            if addition.said_by_tests not in (said := called([*pytest, "-v"], tree, environment)):
                raise Failed(f"No test ran with {addition.said_by_tests!r}:\n{said[-2000:]}")
        return files


def main() -> None:
    """Print one row for each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--list", action="store_true", help="name the families")
    parser.add_argument("--count", action="store_true", help="do not build, show and test")
    options = parser.parse_args()
    chosen = [each for each in TABLE if not options.families or each.family in options.families]
    if options.list:
        print("\n".join(each.family for each in TABLE))
        return
    if missing := set(options.families) - {each.family for each in TABLE}:
        sys.exit(f"No such family: {', '.join(missing)}")
    print("| one more | places | at most | files |\n| --- | --- | --- | --- |")
    wrong = False
    for addition in chosen:
        try:
            files = tried(addition, count=options.count)
        except Failed as failure:
            print(f"| {addition.family} | | {addition.most} | {failure} |", flush=True)
            wrong = True
            continue
        wrong |= len(files) > addition.most
        print(f"| {addition.family} | {len(files)} | {addition.most} | {', '.join(files)} |", flush=True)
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
