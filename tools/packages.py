"""Packages of becalm, all of them by one command: `make packages`. Nothing is uploaded.

    python tools/packages.py [--only NAME…]     # sdist, wheels, documents, debian

`dist/` has afterwards: an sdist with all crates in it, which builds without a network; of that sdist a wheel for x86-64
and one for aarch64, each for the oldest glibc that its programs need (manylinux); a Debian package of each; the bill of
materials and the licences. The sdist is made of what git knows, the wheels of the sdist, the Debian packages of the
wheels. Each is tried before it counts: the wheel of this machine is installed and measures, lintian reads the Debian
packages where it is installed.
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
import time
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import debian_package
import licences

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build/packages"
STEPS = ("sdist", "wheels", "documents", "debian")

MANYLINUX_NEEDS = {"libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"}
"""Libraries that every manylinux has (PEP 600), besides the loader."""


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
    """Run a command; what it prints. Ends with what it said when it fails."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        message = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        sys.exit(f"{' '.join(map(str, command))} failed:\n{message}")
    return str(done.stdout)


def builder() -> Path:
    """Return the Python that builds, with the requirements of pyproject.toml; it is made once."""
    python = WORK / "venv/bin/python"
    if not python.exists():
        venv.create(WORK / "venv", with_pip=True)
        run(python, "-m", "pip", "install", "-q", "setuptools>=70.1", "setuptools-rust>=1.10", "wheel>=0.43")
    return python


def sdist() -> Path:
    """Build the source distribution with all crates, from the files that git knows."""
    with tempfile.TemporaryDirectory(dir=WORK) as place:
        tree = Path(place, "tree")
        files = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
        for name in filter(None, files):
            target = tree / name
            if (ROOT / name).is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        run(builder(), "setup.py", "-q", "sdist", "--vendor-crates", "-d", DIST, cwd=tree)
    path = DIST / f"becalm-{licences.version()}.tar.gz"
    whole(path)
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


def wheel(source: Path, target: Target, tables: Path) -> Path:
    """Build a wheel of the sdist for a target, without a network. `tables`: the output of an agent of this machine."""
    if shutil.which(target.linker) is None:
        package = f"gcc-{target.wheel.replace('_', '-')}-linux-gnu"
        sys.exit(f"{target.linker} is missing, which links for {target.wheel}. On Debian: apt-get install {package}")
    upper = target.rust.upper().replace("-", "_")
    environment = {
        **os.environ,
        "CARGO_BUILD_TARGET": target.rust,
        f"CARGO_TARGET_{upper}_LINKER": target.linker,
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(WORK / "target"),
        **({} if target.wheel == here() else {"BECALM_TABLES": str(tables)}),
    }
    with tempfile.TemporaryDirectory(dir=WORK) as place:
        with tarfile.open(source) as archive:
            archive.extractall(place, filter="data")
        (tree,) = Path(place).iterdir()
        run(builder(), "setup.py", "-q", "bdist_wheel", "-d", WORK / "wheels", cwd=tree, env=environment)
    (built,) = (WORK / "wheels").glob("*.whl")
    platform_tag = f"manylinux_2_{oldest_glibc(built)}_{target.wheel}"
    tags = ("--python-tag", "py3", "--abi-tag", "none", "--platform-tag", platform_tag)
    run(builder(), "-m", "wheel", "tags", "--remove", *tags, built)
    (tagged,) = (WORK / "wheels").glob("*.whl")
    return Path(shutil.move(tagged, DIST / tagged.name))


def oldest_glibc(path: Path) -> int:
    """Return the minor version of the oldest glibc 2 on which all programs of a wheel run; 17 at least, as in
    manylinux."""
    result = 17
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as place:
        for member in archive.infolist():
            if not member.external_attr >> 16 & 0o111:
                continue
            file = Path(archive.extract(member, place))
            if file.read_bytes()[:4] == b"\x7fELF":
                result = max(result, glibc_needed(run("readelf", "-W", "--dynamic", "--version-info", file), file.name))
    return result


def glibc_needed(output: str, name: str) -> int:
    """Return the newest version of glibc's symbols that one program uses, by readelf's output; 0 for a static one."""
    libraries = set(re.findall(r"\(NEEDED\).*\[([^\]]+)\]", output))
    if foreign := sorted(library for library in libraries - MANYLINUX_NEEDS if not library.startswith("ld-linux")):
        sys.exit(f"{name} needs {', '.join(foreign)}, which manylinux does not have.")
    return max((int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", output)), default=0)


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


def tables() -> Path:
    """Write the agent's tables, which are the same on every machine."""
    path = WORK / "tables.json"
    path.write_text(run(ROOT / "python/becalm/becalm-agent", "tables"))
    return path


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
        sys.exit("Who makes the Debian package? Say so: DEBFULLNAME='Ada L' DEBEMAIL=ada@example.org make packages")
    return debian_package.Maker(
        f"{name} <{address}>", int(run("git", "log", "-1", "--format=%ct", cwd=ROOT) or time.time())
    )


def debian(components: Sequence[licences.Component]) -> None:
    """Make a package of each wheel; lintian checks it where it is installed."""
    for target in TARGETS:
        (package_file,) = DIST.glob(f"becalm-*_{target.wheel}.whl")
        version = licences.version()
        package = debian_package.build(package_file, DIST, version, target.debian, maker(), components, ROOT)
        if shutil.which("lintian"):
            run("lintian", "--fail-on", "error,warning", "--allow-root", package)
        else:
            print(f"{package.name}: lintian is not installed (apt-get install lintian), so nobody has read it.")


def main() -> None:
    """Run all steps, or some."""
    parser = argparse.ArgumentParser(description="Make becalm's packages.")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    steps = parser.parse_args().only
    DIST.mkdir(exist_ok=True)
    (WORK / "wheels").mkdir(parents=True, exist_ok=True)
    if "sdist" in steps:
        print(f"{sdist().name}: builds without a network")
    if "wheels" in steps:
        for path in (*(WORK / "wheels").glob("*.whl"), *DIST.glob("*.whl")):
            path.unlink()
        for target in TARGETS:
            result = wheel(DIST / f"becalm-{licences.version()}.tar.gz", target, tables())
            if target.wheel == here():
                try_wheel(result)
            print(result.name)
    components = documents() if {"documents", "debian"} & set(steps) else []
    if "debian" in steps:
        debian(components)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>12,} {path.name}")


if __name__ == "__main__":
    main()
