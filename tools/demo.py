"""Show in a minute what becalm is for: `make demo`, or `python tools/demo.py BECALM [SECONDS]`.

BECALM is the installed command and SECONDS the time for each of the two comparisons (15). Nothing on this machine is
changed and nothing is kept: inputs, the store and the directory tree of a laptop are in a temporary directory.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.laptop import changed, laptop, snapshot  # noqa: E402

BYTES = 20_000_000
"""The length of the shorter input: 10 to 60 ms for sha256sum."""
SEED = 7


@dataclass(frozen=True)
class Scene:
    """A remark and the commands that it is about."""

    remark: str
    commands: tuple[str, ...]


def scenes(seconds: int) -> tuple[Scene, ...]:
    """Return the scenes of the demonstration, with a budget in seconds for each comparison."""
    return (
        Scene(
            "The file b is 1 % longer than the file a. Is that seen?",
            (f"becalm compare --confidence 99% --budget {seconds}s 'sha256sum a' 'sha256sum b'",),
        ),
        Scene(
            "The same program twice: at 99 % confidence, at most 1 try in 100 is wrong.",
            (f"becalm compare --confidence 99% --budget {seconds}s 'sha256sum a' 'sha256sum a'",),
        ),
        Scene(
            "Which settings make a program repeatable? Searched on a simulated laptop.",
            (f"becalm tune --host sim:laptop-a --seed {SEED} --budget 5min --quiet -- spin 1s",),
        ),
        Scene(
            "Apply settings to the directory tree of a laptop, and restore every value.",
            (
                "becalm apply --root laptop --set governor=performance --set turbo=off --set swappiness=1",
                "becalm reset --root laptop",
            ),
        ),
    )


def prepare(directory: Path) -> None:
    """Write the inputs of the comparisons and the tree of the laptop."""
    data = random.Random(SEED).randbytes(BYTES + BYTES // 100)
    (directory / "a").write_bytes(data[:BYTES])
    (directory / "b").write_bytes(data)
    laptop(directory / "laptop")


def environment(directory: Path) -> dict[str, str]:
    """Return the environment of the commands: a store of their own."""
    return {**os.environ, "BECALM_STORE": str(directory / "becalm.db")}


def play(becalm: str, seconds: int, directory: Path) -> int:
    """Run the commands of all scenes and return the exit code of the first that fails, or 0."""
    prepare(directory)
    before = snapshot(directory / "laptop")
    for number, scene in enumerate(scenes(seconds), 1):
        print(f"\n# {number}. {scene.remark}", flush=True)
        for command in scene.commands:
            print(f"$ {command}", flush=True)
            words = [becalm, *shlex.split(command)[1:]]
            code = subprocess.run(words, cwd=directory, env=environment(directory), check=False).returncode
            if code:
                return code
    left = changed(before, snapshot(directory / "laptop"))
    print(f"# {'Not restored: ' + ', '.join(left) if left else 'Every file of the tree is as it was.'}")
    return 1 if left else 0


def main(arguments: list[str]) -> int:
    """Play the demonstration and return its exit code."""
    becalm, *rest = arguments
    with tempfile.TemporaryDirectory(prefix="becalm-demo-") as directory:
        code = play(str(Path(becalm).absolute()), int(rest[0]) if rest else 15, Path(directory))
    if not code:
        print(f"\nYour turn: . {Path(becalm).parent}/activate; becalm --help")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
