"""How far it is from a command to the first run that a host is asked for: the files of becalm that are walked through.

    python tools/walk.py                # this tree
    python tools/walk.py OLD NEW        # two checkouts side by side

The command runs on a simulated host, in a process of its own, until the host's `measure` is called for a run that
counts. A file is walked through when one of its functions was called by then; what only happens while modules are
imported does not count. *Deep* is how many files stand above each other at that moment, from the command line down to
the host. The rest of the walk, in the agent, is that of all commands. Python 3.11 with becalm's dependencies must run
it; nothing of the trees is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

WALKS = {
    "compare": ("compare", "--host", "sim:drift", "--seed", "1", "--runs", "6", "spin 20ms", "spin 21ms"),
    "tune": ("tune", "--host", "sim:laptop-a", "--seed", "1", "--no-single-out", "--no-profiles", "--", "spin 1s"),
}


class Arrived(BaseException):
    """The host was asked for the run; nothing must catch it."""


def walked(words: list[str]) -> dict[str, list[str]]:
    """Run a command until its first stored run is asked for; the files by then, and those on the way down to it."""
    import becalm

    package = Path(becalm.__file__).parent
    files: list[str] = []
    deep: list[str] = []

    def place(frame: FrameType) -> str | None:
        name = frame.f_code.co_filename
        return str(Path(name).relative_to(package)) if name.startswith(str(package)) else None

    def imports(frame: FrameType | None) -> bool:
        while frame is not None and not (frame.f_code.co_name == "<module>" and place(frame)):
            frame = frame.f_back
        return frame is not None

    def stored(frame: FrameType) -> bool:
        """Whether a study has begun: what is measured before is never counted."""
        return frame.f_code.co_name == "begin" and "store" in frame.f_code.co_filename

    begun = False

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal begun
        if event != "call" or (name := place(frame)) is None or imports(frame):
            return
        if name not in files:
            files.append(name)
        begun = begun or stored(frame)
        if begun and name.startswith("hosts") and frame.f_code.co_name == "measure":
            at: FrameType | None = frame
            while at is not None:
                if (above := place(at)) is not None and deep[-1:] != [above]:
                    deep.append(above)
                at = at.f_back
            raise Arrived

    from becalm.cli.main import becalm as command

    sys.setprofile(look)
    try:
        command.main(words, prog_name="becalm", standalone_mode=False)
    except Arrived:
        pass
    finally:
        sys.setprofile(None)
    return {"files": files, "deep": deep[::-1]}


def of(tree: Path, words: tuple[str, ...]) -> dict[str, list[str]]:
    """The walk of one command in one tree, in a process that has nothing of another."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "PYTHONPATH": str(tree / "python"), "BECALM_STORE": f"{directory}/becalm.db"}
        done = subprocess.run(
            [sys.executable, __file__, "--inside", *words],
            env=environment,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{tree}: becalm {' '.join(words)}: {done.stderr}")
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print one row for each command."""
    if sys.argv[1:2] == ["--inside"]:
        print(json.dumps(walked(sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--list", action="store_true", help="name the files")
    options = parser.parse_args()
    print("| | " + " | ".join(f"{tree}: files | folders | deep" for tree in options.trees) + " |")
    print("| --- " * (3 * len(options.trees) + 1) + "|")
    for name, words in WALKS.items():
        walks = [of(tree.resolve(), words) for tree in options.trees]
        folders = [{str(Path(file).parent) for file in walk["files"]} for walk in walks]
        counts = zip(walks, folders, strict=True)
        cells = [f"{len(walk['files'])} | {len(found)} | {len(walk['deep'])}" for walk, found in counts]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        if options.list:
            for tree, walk in zip(options.trees, walks, strict=True):
                print(f"  {tree}: {' '.join(walk['files'])}\n  deep: {' '.join(walk['deep'])}")


if __name__ == "__main__":
    main()
