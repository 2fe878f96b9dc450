"""Build all packages of becalm: `make dist`. Nothing is uploaded.

    python tools/packages.py [--only NAME…]     # sdist, wheels, documents, debian, crate

The result is in `dist/`: an sdist with all crates, which builds without a network; wheels for x86-64 and aarch64, each
for glibc 2.17 and later and for musl; a Debian package of each; the bill of materials and the licences; the crate
becalm-clock. The sdist contains the files that git tracks, the wheels are built from it, and the Debian packages from
the wheels. Each is tried: the wheel for this machine is installed and measures, and lintian checks the Debian packages
where it is installed. The same commit gives the same bytes (`reproduce.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import archives
import debian_package
import licences
import linking
import package_origin

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build/packages"
STEPS = ("sdist", "wheels", "documents", "debian", "crate")

BUILDERS = ("setuptools==84.2.1", "setuptools-rust==1.13.0", f"ziglang=={linking.ZIG}", "twine==7.0.0")
"""The programs that build and read packages, in fixed versions, since they write parts of them."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine: by Rust's name, in wheels and in Debian, and the linker that makes programs for it."""

    rust: str
    wheel: str
    debian: str
    linker: str


TARGETS = (
    Target("x86_64-unknown-linux-gnu", "x86_64", "amd64", "x86_64-linux-gnu-gcc"),
    Target("aarch64-unknown-linux-gnu", "aarch64", "arm64", "aarch64-linux-gnu-gcc"),
)


def here() -> str:
    """Return the kind of this machine, as wheels call it."""
    return platform.machine()


def run(*command: object, **options: object) -> str:
    """Run a command and return its output; exit with the end of the output when it fails."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        message = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        sys.exit(f"{' '.join(map(str, command))} failed:\n{message}")
    return str(done.stdout)


def epoch() -> int:
    """Return the time of every file in the packages: SOURCE_DATE_EPOCH, or that of the last commit."""
    words = ("git", "log", "-1", "--format=%ct")
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run(*words, cwd=ROOT))


def builder() -> Path:
    """Return the Python that builds, with its requirements; it is made once for each set of versions."""
    place = WORK / "venv"
    versions = place / "versions"
    if not versions.is_file() or versions.read_text(encoding="utf-8") != "\n".join(BUILDERS):
        venv.create(place, with_pip=True, clear=True)
        run(place / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *BUILDERS)
        versions.write_text("\n".join(BUILDERS), encoding="utf-8")
    return place / "bin/python"


def source_tree(place: Path) -> None:
    """Copy the files that git knows, and write their origin next to them."""
    for name in filter(None, run("git", "ls-files", "-z", cwd=ROOT).split("\0")):
        target = place / name
        if (ROOT / name).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    origin = package_origin.origin(ROOT)
    origin.write(place)
    if not origin.repository:
        print(
            "The packages have no links to a repository: its address is not known. Set the remote origin, or "
            f"{package_origin.VARIABLE}=https://…"
        )


def sdist() -> Path:
    """Build the source distribution with all crates, from the files that git knows."""
    with tempfile.TemporaryDirectory(dir=WORK) as place:
        tree = Path(place, "tree")
        source_tree(tree)
        run(builder(), "setup.py", "-q", "sdist", "--vendor-crates", "-d", DIST, cwd=tree)
    path = DIST / f"becalm-{licences.version()}.tar.gz"
    whole(path)
    archives.sdist(path, epoch())
    run(builder(), "-m", "twine", "check", "--strict", path)
    return path


def whole(path: Path) -> None:
    """Check that an sdist can be built by itself: every crate of Cargo.lock is in it, and cargo is told so."""
    with tarfile.open(path) as archive:
        names = {getname.partition("/")[2] for getname in archive.getnames()}
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    for name, source in re.findall(r'name = "([^"]+)"\nversion = "[^"]+"\n(source = )?', lock):
        if source and not any(member.startswith(f".cargo/vendor/{name}") for member in names):
            sys.exit(f"{path} lacks the crate {name}: it could not be built without a network.")
    for needed in (".cargo/config.toml", "Cargo.lock", "crates/becalm-agent/src/main.rs", "python/becalm/__init__.py"):
        if needed not in names:
            sys.exit(f"{path} lacks {needed}.")


def same_paths(tree: Path) -> str:
    """Return rustc's flags by which programs do not contain where they were compiled, as cargo reads them."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    places = {tree: ".", WORK / "target": "target", cargo: "cargo"}
    return "\x1f".join(f"--remap-path-prefix={place}={name}" for place, name in places.items())


def wheel(source: Path, target: Target, tables: Path | None) -> Path:
    """Build a wheel of the sdist for a target, without a network. `tables`: those of an agent that runs here."""
    if shutil.which(target.linker) is None:
        package = f"gcc-{target.wheel.replace('_', '-')}-linux-gnu"
        sys.exit(f"{target.linker} is missing, which links for {target.wheel}. On Debian: apt-get install {package}")
    upper = target.rust.upper().replace("-", "_")
    shutil.rmtree(WORK / "wheels", ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=WORK) as place:
        with tarfile.open(source) as archive:
            archive.extractall(place, filter="data")
        (tree,) = Path(place).iterdir()
        environment = {
            **os.environ,
            "BECALM_TIMERS_LINKER": str(linking.zig_linker(Path(place), builder(), target.wheel)),
            "CARGO_BUILD_TARGET": target.rust,
            f"CARGO_TARGET_{upper}_LINKER": target.linker,
            "CARGO_ENCODED_RUSTFLAGS": same_paths(tree),
            "CARGO_NET_OFFLINE": "true",
            "CARGO_TARGET_DIR": str(WORK / "target"),
            "SOURCE_DATE_EPOCH": str(epoch()),
            "ZIG_GLOBAL_CACHE_DIR": str(WORK / "zig"),
            **({"BECALM_TABLES": str(tables)} if tables else {}),
        }
        # Programs of BPF are for those who build becalm themselves (docs/reference/sweetspots.md).
        environment.pop("BECALM_BPF_OBJECTS", None)
        run(builder(), "setup.py", "-q", "bdist_wheel", "-d", WORK / "wheels", cwd=tree, env=environment)
    (built,) = (WORK / "wheels").glob("*.whl")
    tags = ("py3", "none", linking.platforms(linking.programs(built), target.wheel))
    result = archives.wheel(built, DIST, tags, epoch())
    run(builder(), "-m", "twine", "check", "--strict", result)
    return result


def wheels(source: Path) -> None:
    """Build the wheel of this machine, try it, and build the others with its tables."""
    for path in DIST.glob("*.whl"):
        path.unlink()
    tables = None
    for target in sorted(TARGETS, key=lambda target: target.wheel != here()):
        path = wheel(source, target, tables)
        if target.wheel == here():
            try_wheel(path)
            tables = WORK / "tables.json"
            with zipfile.ZipFile(path) as archive:
                tables.write_bytes(archive.read("becalm/tables.json"))
        print(path.name)


def try_wheel(path: Path) -> None:
    """Install it into an empty environment, and measure."""
    place = WORK / "tried"
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    run(place / "bin/pip", "install", "-q", path)
    environment = {**os.environ, "XDG_STATE_HOME": str(place), "BECALM_STORE": str(place / "runs.db")}
    output = run(place / "bin/becalm", "run", "--runs", 3, "--", "true", cwd=place, env=environment)
    if "3 runs" not in output:
        sys.exit(f"{path} was installed and did not measure:\n{output}")


def documents() -> list[licences.Component]:
    """Write the bill of materials and the licences."""
    components = licences.components()
    if bad := licences.refused(components):
        sys.exit(
            "\n".join(
                f"{component.name} {component.version}: {component.licence or 'no licence'} is not allowed."
                for component in bad
            )
        )
    version = licences.version()
    (DIST / f"becalm-{version}.cdx.json").write_text(json.dumps(licences.bill(components, version), indent=1) + "\n")
    (DIST / f"becalm-{version}.licences.md").write_text(licences.report(components))
    return components


def maker() -> debian_package.Maker:
    """Return the maker of Debian packages, by DEBFULLNAME and DEBEMAIL or by git, and the time of the last commit."""

    def known(variable: str, key: str) -> str:
        done = subprocess.run(["git", "config", key], cwd=ROOT, capture_output=True, text=True, check=False)
        return os.environ.get(variable) or done.stdout.strip()

    name, address = known("DEBFULLNAME", "user.name"), known("DEBEMAIL", "user.email")
    if not (name and address):
        sys.exit("The Debian package needs its maintainer: DEBFULLNAME='Ada L' DEBEMAIL=ada@example.org make dist")
    return debian_package.Maker(f"{name} <{address}>", epoch())


def debian(components: Sequence[licences.Component]) -> None:
    """Make a package of each wheel; lintian checks it where it is installed."""
    for target in TARGETS:
        (package_file,) = DIST.glob(f"becalm-*_{target.wheel}.whl")
        version = licences.version()
        package = debian_package.build(package_file, DIST, version, target.debian, maker(), components, ROOT)
        if shutil.which("lintian"):
            run("lintian", "--fail-on", "error,warning", "--allow-root", package)
        else:
            print(f"{package.name}: lintian is not installed (apt-get install lintian), so it was not checked.")


def crate() -> Path:
    """Pack becalm-clock as it would be published, without publishing it."""
    target = WORK / "target"
    words = ("--locked", "--allow-dirty", "-p", "becalm-clock", "--target-dir", target)
    run("cargo", "publish", "-q", "--dry-run", *words, cwd=ROOT)
    run("cargo", "package", "-q", "--no-verify", *words, cwd=ROOT)
    (package,) = (target / "package").glob(f"becalm-clock-{licences.version()}.crate")
    return Path(shutil.copy(package, DIST))


def main() -> None:
    """Run all steps, or some."""
    parser = argparse.ArgumentParser(description="Make becalm's packages.")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    steps = parser.parse_args().only
    DIST.mkdir(exist_ok=True)
    WORK.mkdir(parents=True, exist_ok=True)
    if "sdist" in steps:
        print(f"{sdist().name}: builds without a network")
    if "wheels" in steps:
        wheels(DIST / f"becalm-{licences.version()}.tar.gz")
    components = documents() if {"documents", "debian"} & set(steps) else []
    if "debian" in steps:
        debian(components)
    if "crate" in steps:
        crate()
    for path in sorted(path for path in DIST.iterdir() if path.is_file()):
        print(f"{path.stat().st_size:>12,} {path.name}")


if __name__ == "__main__":
    main()
