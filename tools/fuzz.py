"""Fuzz the readers of other people's bytes, guided by coverage: `python tools/fuzz.py --seconds 60 [TARGET…]`.

The targets of fuzz/ are compiled with the coverage that libFuzzer wants, by any toolchain of Rust and a compiler of
C++, and run one after the other, in the given seconds together. Each begins with its own inputs, those of fuzz/seeds
and those that earlier runs have found (fuzz/corpus, which is not in the repository). `--renew` writes the found inputs
that reach more code than the target's own into fuzz/seeds. Without a compiler of C++ inputs are changed blindly, and
with CI=true that is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "fuzz"
BUILD = FUZZ / "target/guided"
MANIFEST = ["--manifest-path", str(FUZZ / "Cargo.toml"), "--locked"]
COVERAGE = (
    *("-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=4"),
    *(f"-Cllvm-args=-sanitizer-coverage-{part}" for part in ("inline-8bit-counters", "pc-table", "trace-compares")),
    *("--cfg", "fuzzing"),
)
"""The flags of cargo-fuzz that every toolchain knows; its others ask for a sanitizer."""

NOBODY = 65_534
LONGEST_SEED = 1_500
"""Bytes of an input that is worth keeping in the repository."""
MOST_SEEDS = 60


def targets() -> list[str]:
    """Return the names of all targets."""
    return re.findall(r'name: "(\w+)"', (FUZZ / "src/lib.rs").read_text())


def compiler() -> str | None:
    """Return a compiler of C++, which libFuzzer is compiled with."""
    return next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


def build(names: Sequence[str]) -> Path:
    """Compile targets; return the directory of their programs."""
    host = next(
        line.split()[1]
        for line in subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines()
        if line.startswith("host: ")
    )
    environment = {**os.environ, "RUSTFLAGS": " ".join(COVERAGE), "CARGO_TARGET_DIR": str(BUILD)}
    # All that coverage adds is slow to optimise: three times as long for a search that is no faster.
    environment["CARGO_PROFILE_RELEASE_OPT_LEVEL"] = "1"
    # With --target, scripts and macros of the build are compiled without coverage.
    command = ["cargo", "build", "-q", "--release", *MANIFEST, "--target", host]
    command += [word for name in names for word in ("--bin", name)]
    subprocess.run(command, env={**environment, "CXX": compiler() or ""}, check=True)
    return BUILD / host / "release"


@contextmanager
def workshop(name: str) -> Iterator[Path]:
    """Yield a directory with the corpus of a target, for somebody without rights; what was found is kept afterwards."""
    corpus = FUZZ / "corpus" / name
    with tempfile.TemporaryDirectory(prefix="bt-fuzz-") as place:
        path = Path(place)
        (path / "found").mkdir()
        if corpus.is_dir():
            shutil.copytree(corpus, path / "corpus")
        else:
            (path / "corpus").mkdir()
        if os.geteuid() == 0:
            for folder in (path, path / "found", path / "corpus", *(path / "corpus").iterdir()):
                os.chown(folder, NOBODY, NOBODY)
        yield path
        shutil.copytree(path / "corpus", corpus, dirs_exist_ok=True)


def run(program: Path, path: Path, *options: str) -> tuple[int, str]:
    """Run a target in its workshop; return its exit code and what it printed."""
    environment = {**os.environ, "BECALM_FUZZ_SEEDS": str(path / "corpus")}
    log = path / "log"
    with log.open("wb") as file:
        words = [str(program), f"-artifact_prefix={path}/found/", "-max_len=65536", "-rss_limit_mb=2048", *options]
        process = subprocess.Popen(words, env=environment, stdout=file, stderr=file, cwd=path)
        code = process.wait()
    for shelf in (Path("/dev/shm"), Path(tempfile.gettempdir())):
        shutil.rmtree(shelf / f"becalm-fuzz-{process.pid}", ignore_errors=True)
    return code, log.read_text(errors="replace")


def search(program: Path, seconds: float, seed: int) -> bool:
    """Search with one target and print what came of it; return whether it found no fault."""
    name = program.name
    with workshop(name) as path:
        time = max(1, round(seconds))
        options = (f"-max_total_time={time}", f"-seed={seed}", "-timeout=10", "-print_final_stats=1")
        code, verdict = run(program, path, *options, str(path / "corpus"))
        patterns = (r"stat::number_of_executed_units: (\d+)", r"exec/s: (\d+)", r"cov: (\d+)", r"corp: (\d+)")
        inputs, rate, covered, size = (next(iter(re.findall(pattern, verdict)[-1:]), "?") for pattern in patterns)
        what = f"{inputs:>9} inputs, {rate:>6} a second, {covered:>5} branches, {size:>4} inputs kept"
        print(f"{name:<14} {what}", flush=True)
        faults = FUZZ / "artifacts" / name
        for files in (path / "found").iterdir():
            faults.mkdir(parents=True, exist_ok=True)
            shutil.copy(files, faults)
            again = "cargo run --manifest-path fuzz/Cargo.toml --no-default-features -- --input"
            print(f"{name} fails. Again: {again} {faults / files.name} {name}")
        if code:
            print("\n".join(verdict.splitlines()[-40:]))
        return code == 0


def renew(program: Path) -> None:
    """Write the found inputs that reach more than the target's own into fuzz/seeds."""
    file = FUZZ / "seeds" / f"{program.name}.jsonl"
    file.unlink(missing_ok=True)
    with workshop(program.name) as path:
        corpus, own = path / "corpus", path / "own"
        corpus.rename(path / "all")
        corpus.mkdir()
        os.chown(corpus, path.stat().st_uid, path.stat().st_gid)
        # What the target itself begins with is written there; the rest is merged into it.
        run(program, path, "-runs=0", str(corpus))
        before = {path.name for path in corpus.iterdir()}
        code, verdict = run(program, path, "-merge=1", str(corpus), str(path / "all"))
        if code:
            sys.exit(verdict[-2000:])
        more = [path.read_bytes() for path in corpus.iterdir() if path.name not in before]
        (path / "all").rename(own)
    short = sorted((argument for argument in more if len(argument) <= LONGEST_SEED), key=lambda item: (len(item), item))
    lines = [json.dumps(seed.decode("latin-1")) + "\n" for seed in short[:: max(1, -(-len(short) // MOST_SEEDS))]]
    if lines:
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(lines))
    print(f"{program.name:<14} {len(lines):>3} of {len(more)} inputs are in {file.relative_to(ROOT)}")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of other people's bytes.")
    parser.add_argument("--seconds", type=float, default=60, help="time for all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="write what was found into fuzz/seeds; search for nothing")
    parser.add_argument("target", nargs="*")
    options = parser.parse_args()
    names = options.target or targets()
    if compiler() is None:
        print("There is no compiler of C++ (g++), which libFuzzer needs; inputs are changed blindly.", file=sys.stderr)
        if os.environ.get("CI") == "true":
            return 1
        words = ["--seconds", str(options.seconds), "--seed", str(options.seed), *options.target]
        command = ["cargo", "run", "-q", "--release", *MANIFEST, "--no-default-features", "--", *words]
        return subprocess.run(command).returncode
    programs = [build(names) / name for name in names[:1]]
    programs += [programs[0].with_name(name) for name in names[1:]]
    if options.renew:
        for program in programs:
            renew(program)
        return 0
    whole = [search(program, options.seconds / len(names), options.seed) for program in programs]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
