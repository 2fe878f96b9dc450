"""`becalm clock --headers DIR`: the C headers and the Rust crate with which programs time their own regions.

They are part of the package: the build copies crates/becalm-clock next to the package's modules (setup.py). A checkout
has them in the crate itself.
"""

from __future__ import annotations

import importlib.resources
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from becalm.errors import MachineError, UsageError
from becalm.files.written import target, write

CRATE = "becalm-clock"
PACKED = "clock_sources"
"""The folder of the package that the build makes: the crate, the workspace's Cargo.toml and the licences."""

LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")

PARTS = ("include/*.h", "src/**/*.rs", "examples/*", "README.md", "Cargo.toml")
"""The files of the crate to write; its tests need the rest of the checkout."""


def write_headers(directory: str | Path) -> tuple[Path, ...]:
    """Write the headers into a directory, and the crate into `becalm-clock` below it; return the headers.

    A missing directory is made; existing files with the same names that becalm did not write are refused. Raises
    UsageError for a place that cannot be written, MachineError where the package has no sources.
    """
    base, to = _sources(), Path(directory)
    crate = base / "crates" / CRATE if (base / "crates").is_dir() else base / CRATE
    headers = sorted((crate / "include").glob("*.h"))
    if not headers:
        raise MachineError(f"The headers are not in this installation: {crate} has none. Install becalm again.")
    try:
        contents = {to / header.name: header.read_bytes() for header in headers}
        contents |= {to / CRATE / source.relative_to(crate): source.read_bytes() for source in _parts(crate)}
        contents |= {to / CRATE / licence: (base / licence).read_bytes() for licence in LICENCES}
        manifest = (crate / "Cargo.toml").read_text(encoding="utf-8")
        workspace = tomllib.loads((base / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
        contents[to / CRATE / "Cargo.toml"] = standalone(manifest, workspace["package"]).encode()
        for path in contents:
            target(path)
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, content)
    except OSError as error:
        raise UsageError(f"The headers cannot be written to {to}: {error.strerror}.") from error
    return tuple(to / header.name for header in headers)


def standalone(manifest: str, workspace: dict[str, str]) -> str:
    """Return a manifest with the values that it took from its workspace, without lints and tests."""
    sections = [part for part in re.split(r"\n(?=\[)", manifest) if not part.startswith(("[lints]", "[[test]]"))]
    own = re.compile(r"^([\w-]+)\.workspace = true$", re.MULTILINE)
    return own.sub(lambda match: f'{match[1]} = "{workspace[match[1]]}"', "\n".join(sections))


def _parts(crate: Path) -> Iterator[Path]:
    for pattern in PARTS:
        yield from (path for path in sorted(crate.glob(pattern)) if path.is_file())


def _sources() -> Path:
    """Return the folder with the crate, in the package or in the checkout that contains it."""
    package = Path(str(importlib.resources.files("becalm")))
    checkout = package.parents[1]
    return checkout if (checkout / "crates" / CRATE).is_dir() else package / PACKED
