"""Fuzz what becalm reads in Python, guided by coverage (atheris): `python tools/fuzz_readers.py [TARGET…]`.

A target is text of somebody else's: it is read, or refused in a sentence. Each runs in a process of its own and begins
with files of the tests. Without atheris, a failure with CI=true, nothing is done and that is said.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests/data"
FOUND = ROOT / "fuzz/artifacts"


def read_profile(text: str) -> None:
    """Read a profile; write what was read and read it again."""
    from becalm import profiles
    from becalm.errors import UsageError

    with contextlib.suppress(UsageError):
        profile = profiles.parse(text, "p.toml", "p")
        assert profiles.parse(profiles.text(profile), "again", "again") == profile


def read_sysstat(text: str) -> None:
    """Read a record of sysstat's."""
    from becalm.errors import UsageError
    from becalm.load import sadf

    with contextlib.suppress(UsageError):
        sadf.read(text)


def read_import(text: str) -> None:
    """Import a file into a store in memory and show what is in it."""
    from becalm.errors import StoreError, UsageError
    from becalm.verbs import records

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as place:
        path = Path(place) / "file.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        with contextlib.suppress(UsageError, StoreError):
            records.import_(path, str(Path(place) / "runs.db"))


class Answers:
    """A link to an agent that has said these lines, whatever it is asked."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)

    def send(self, line: bytes, *_: object) -> None:
        """Take a request."""

    interrupt = send

    def read(self, *_: object) -> bytes:
        """Return the next line; none when there are no more."""
        return self._lines.pop(0) if self._lines else b""

    def close(self) -> None:
        """End the conversation."""

    def lost(self, host: str) -> Exception:
        """Return the error of a line that did not come."""
        from becalm.errors import MachineError

        return MachineError(f"{host} is lost.")


def read_answers(text: str) -> None:
    """Open a conversation with an agent and ask it for everything that needs no more."""
    from becalm.errors import BecalmError
    from becalm.hosts import Access
    from becalm.hosts.agent import AgentHost
    from becalm.nouns.settings import Settings

    with contextlib.suppress(BecalmError):
        agent = AgentHost("far", Answers(text), Access())  # type: ignore[arg-type]
        for ask in (agent.facts, agent.knobs, agent.status, agent.restore, agent.user):
            ask()
        agent.plan(Settings.of({"swappiness": 1}))


@dataclass(frozen=True)
class Target:
    """A reader to fuzz. `seeds`: the files that a search begins with."""

    read: Callable[[str], None]
    seeds: tuple[str, ...]


TARGETS = {
    "profile": Target(read_profile, ("python/becalm/profiles/*.toml",)),
    "sysstat": Target(read_sysstat, ("tests/data/sadf/*.json",)),
    "answers": Target(read_answers, ("fuzz/machines/answers.jsonl",)),
    "import": Target(read_import, ("tests/data/hyperfine-1.20.json", "tests/data/pyperf-1.0.json")),
}


def fuzz(name: str, words: list[str]) -> None:
    """Search in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=["becalm"]):
        import becalm.hosts.agent
        import becalm.load.sadf
        import becalm.profiles
        import becalm.verbs.records  # noqa: F401
        from becalm.errors import UsageError
        from becalm.files.text import decode

    def try_input(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            TARGETS[name].read(decode(data, "p.toml"))

    atheris.Setup([sys.argv[0], *words], try_input)
    atheris.Fuzz()


def search(name: str, seconds: float) -> bool:
    """Search with one target in a process of its own; return whether it found no fault."""
    with tempfile.TemporaryDirectory(prefix="bt-fuzz-") as place:
        corpus, crashes = Path(place) / "corpus", Path(place) / "found"
        corpus.mkdir()
        crashes.mkdir()
        for number, path in enumerate(path for pattern in TARGETS[name].seeds for path in sorted(ROOT.glob(pattern))):
            shutil.copy(path, corpus / str(number))
        words = [
            f"-max_total_time={max(1, round(seconds))}",
            f"-artifact_prefix={crashes}/",
            "-timeout=20",
            "-max_len=16384",
        ]
        command = [sys.executable, __file__, "--inside", name, *words, "-print_final_stats=1", str(corpus)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "BECALM_STORE": str(Path(place) / "runs.db")}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
        inputs = [line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line]
        print(f"{name:<14} {(inputs or ['?'])[0]:>9} inputs", flush=True)
        for path in crashes.iterdir():
            folder = FOUND / name
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{name} fails on {shutil.copy(path, folder)}")
        if done.returncode:
            print("\n".join((done.stdout + done.stderr).splitlines()[-40:]))
        return done.returncode == 0


def main() -> int:
    """Run the command."""
    if sys.argv[1:2] == ["--inside"]:
        fuzz(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description="Fuzz what becalm reads in Python.")
    parser.add_argument("--seconds", type=float, default=120, help="time for all targets together")
    parser.add_argument("target", nargs="*", choices=[*TARGETS, []])
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print(
            "atheris is not installed, so no search of Python's readers is guided: pip install atheris", file=sys.stderr
        )
        return int(os.environ.get("CI") == "true")
    names = options.target or list(TARGETS)
    whole = [search(name, options.seconds / len(names)) for name in names]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
