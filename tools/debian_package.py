"""A Debian package of a wheel: what is in the wheel, where Debian has such things, with manual page and completions.

`tools/packages.py` calls `build`. The package is for Debian 13 and later: older ones have no NumPy 1.26.

Public: build, control, copyright_file, changelog, tree.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from licences import Component

MODULES = "usr/lib/python3/dist-packages"

DEPENDS = (
    "python3 (>= 3.11)", "python3-click (>= 8.1)", "python3-numpy (>= 1:1.26)", "python3-rich (>= 13)",
    "python3-scipy (>= 1.11)", "python3-jinja2 (>= 3.1)", "python3-matplotlib (>= 3.6)",
    "python3-cloudpickle (>= 2.2)", "python3-msgspec (>= 0.19)",
)  # fmt: skip

DESCRIPTION = """Description: measure and compare programs so that the answer can be trusted
 becalm says how long programs take, whether a difference between them is real,
 and how small a difference could have been seen. It interleaves what it
 compares, records what else the machine did meanwhile, and names it where that
 made a run slow.
 .
 It finds the settings of the system under which a program varies least or runs
 fastest, and restores everything as it was, whatever crashes in between."""

DYNAMIC = ("libc6 (>= 2.17)",)
"""The library that only becalm-timers is linked with."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The person who makes the package: "Name <address>", and the time, seconds since 1970."""

    who: str
    when: int


def control(version: str, architecture: str, maker: Maker, kibibytes: int) -> str:
    """Return the file `control`."""
    fields = {
        "Package": "becalm",
        "Version": version,
        "Section": "devel",
        "Priority": "optional",
        "Architecture": architecture,
        "Installed-Size": str(kibibytes),
        "Maintainer": maker.who,
        "Depends": ", ".join((*DYNAMIC, *DEPENDS)),
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + DESCRIPTION + "\n"


def copyright_file(components: Sequence[Component], texts: Mapping[str, str]) -> str:
    """Return the file `copyright` in the form of DEP 5; crates and libraries are linked statically."""
    parts = [part for part in components if part.kind != "pypi" and not part.name.startswith("becalm")]
    lines = [f"  {part.name} {part.version}: {part.licence.replace('/', ' OR ')}" for part in parts]
    mit = "".join(f" {line}\n" if line.strip() else " .\n" for line in texts["MIT"].strip().splitlines())
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: becalm\n"
        "Comment: The programs are linked of these crates and libraries, each under the licence next to it:\n"
        + "\n".join(lines)
        + "\n\nFiles: *\nCopyright: the becalm developers\nLicense: Apache-2.0 or Expat\n\n"
        "License: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n\n"
        f"License: Expat\n{mit}"
    )


def changelog(version: str, maker: Maker) -> str:
    """Return the file `changelog` of a package that is made outside of Debian."""
    date = formatdate(maker.when, localtime=False).replace("-0000", "+0000")
    return f"becalm ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.gz.\n\n -- {maker.who}  {date}\n"


OVERRIDES = """# Linked statically, so that the same file runs on older systems and as the first process of a guest.
becalm: statically-linked-binary [{modules}/becalm/becalm-agent]
becalm: statically-linked-binary [{modules}/becalm/becalm-helper]
becalm: statically-linked-binary [{modules}/becalm/becalm-sim]
# Static programs that can be loaded anywhere, which lintian takes for libraries.
becalm: shared-library-lacks-prerequisites [{modules}/becalm/becalm-agent]
becalm: shared-library-lacks-prerequisites [{modules}/becalm/becalm-helper]
becalm: shared-library-lacks-prerequisites [{modules}/becalm/becalm-sim]
# Made of a wheel, for machines that are no part of Debian.
becalm: no-manual-page
becalm: initial-upload-closes-no-bugs
"""

SCRIPTS = {
    "postinst": "#!/bin/sh\nset -e\nif command -v py3compile >/dev/null 2>&1; then\n    py3compile -p becalm\nfi\n",
    "prerm": "#!/bin/sh\nset -e\nif command -v py3clean >/dev/null 2>&1; then\n    py3clean -p becalm\nfi\n",
}


def unpack(wheel: Path, modules: Path) -> None:
    """Unpack a wheel into the folder of modules, without what belongs to pip."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            target = modules / member.filename
            if member.is_dir() or ".." in Path(member.filename).parts:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))
            target.chmod(0o755 if member.external_attr >> 16 & 0o111 else 0o644)
    for record in modules.glob("*.dist-info/RECORD"):
        record.unlink()


def tree(wheel: Path, place: Path, documents: Mapping[str, str], changes: str) -> None:
    """Lay out what is installed. `documents`: text by path below the root; `changes`: becalm's own changes."""
    unpack(wheel, place / MODULES)
    command = place / "usr/bin/becalm"
    command.parent.mkdir(parents=True)
    command.write_text("#!/usr/bin/python3\nfrom becalm.cli.main import main\n\nmain()\n")
    command.chmod(0o755)
    for name, text in documents.items():
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_packed(text) if name.endswith(".gz") else text.encode())
    (place / "usr/share/doc/becalm/CHANGELOG.gz").write_bytes(_packed(changes))


def _packed(text: str) -> bytes:
    # Without a time, so that the same text gives the same bytes.
    return gzip.compress(text.encode(), 9, mtime=0)


def build(
    wheel: Path, to: Path, version: str, architecture: str, maker: Maker, components: Sequence[Component], root: Path
) -> Path:
    """Make the package; gives its path."""
    place = to / f"debian-{architecture}"
    shutil.rmtree(place, ignore_errors=True)
    unpack(wheel, place / MODULES)
    texts = {"MIT": (root / "LICENSE-MIT").read_text(encoding="utf-8")}
    documents = {
        "usr/share/doc/becalm/copyright": copyright_file(components, texts),
        "usr/share/doc/becalm/changelog.gz": changelog(version, maker),
        "usr/share/lintian/overrides/becalm": OVERRIDES.format(modules=MODULES),
        **shell_documents(place / MODULES),
    }
    tree(wheel, place, documents, (root / "CHANGELOG.md").read_text(encoding="utf-8"))
    _strip(place, architecture)
    files = sorted(path for path in place.rglob("*") if path.is_file())
    kibibytes = sum(-(-file.stat().st_size // 1024) for file in files)
    sums = "".join(f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(place)}\n" for file in files)
    about = place / "DEBIAN"
    about.mkdir()
    (about / "control").write_text(control(version, architecture, maker, kibibytes))
    (about / "md5sums").write_text(sums)
    for name, text in SCRIPTS.items():
        (about / name).write_text(text)
        (about / name).chmod(0o755)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    result = to / f"becalm_{version}_{architecture}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(maker.when)}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(place), str(result)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    shutil.rmtree(place)
    return result


def _strip(place: Path, architecture: str) -> None:
    """Take what only debuggers read off the programs."""
    tool = "aarch64-linux-gnu-strip" if architecture == "arm64" else "strip"
    for name in ("becalm-agent", "becalm-helper", "becalm-sim", "becalm-timers"):
        subprocess.run(
            [tool, "--remove-section=.comment", "--strip-unneeded", place / MODULES / "becalm" / name], check=True
        )


def shell_documents(modules: Path) -> dict[str, str]:
    """Return the manual page and the completions, as the becalm in a folder of modules makes them."""
    script = (
        "import sys\nfrom becalm.cli import completion, manual\nfrom becalm.cli.main import becalm as group\n"
        "print(manual.page(group) if sys.argv[1] == 'man' else completion.script(sys.argv[1], group))\n"
    )

    def said(what: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(modules), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", script, what]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    return {
        "usr/share/man/man1/becalm.1.gz": said("man"),
        "usr/share/bash-completion/completions/becalm": said("bash"),
        "usr/share/zsh/vendor-completions/_becalm": said("zsh"),
        "usr/share/fish/vendor_completions.d/becalm.fish": said("fish"),
    }
