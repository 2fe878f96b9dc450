"""Minimal machines: trees with a distribution's smallest set of packages, in which commands run as on a new machine.

`fresh.py` builds and tests becalm from source in them, `installed.py` tries becalm's packages. A tree is made by the
distribution's own tool (mmdebstrap; dnf for Fedora). Its programs run on the kernel of this machine, in mount and
process namespaces of their own, so that what they mount is gone with them. Root is needed, for namespaces and packages.

Public: System, SYSTEMS, Absent, make, run, rust, scratch.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"

PASSED_ON = (
    *("PIP_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CARGO_HTTP_CAINFO"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""The variables by which this machine reaches the archives of packages."""

KEYRING = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
KEYRING_SHA256 = "80a36b0a6de2f69f49d2df75ef473ccde121e9e190b9ea01d20a4f63778d5c31"
"""The checksum of ubuntu-keyring 2023.11.28.1: the Archive Automatic Signing Key of 2018, F6EC B376 2474 EDA9 D21B 7022
8719 20D1 991B C93C."""

UNVERIFIED = (
    *("--aptopt=Acquire::AllowInsecureRepositories true", "--aptopt=APT::Get::AllowUnauthenticated true"),
    "--skip=check/signed-by",
)

METALINK = "https://mirrors.fedoraproject.org/metalink?repo=fedora-{release}&arch=$basearch"
"""The list of Fedora's mirrors, with the checksum of their index, which has that of each package. This connection
vouches for all of them, so no key is needed."""

# The root of a machine is a mount point: without that no program there can have mounts of its own.
INSIDE = """
mount --bind "$1" "$1"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 none "$1/run"
[ -z "$2" ] || mount --bind -o ro "$2" "$1/opt/rust"
cd "$1"
shift 2
exec "$@"
"""


@dataclass(frozen=True)
class System:
    """A distribution to try; mmdebstrap knows where its release comes from. `keys`: whether they are to be fetched.
    `strict`: what is missing there is a failure. `by`: what makes a tree of it. `python`: the name of one that is new
    enough."""

    suite: str
    components: str = "main"
    keys: bool = False
    strict: bool = True
    by: str = "mmdebstrap"
    python: str = "python3"


SYSTEMS = {
    "debian-12": System("bookworm"),
    "debian-13": System("trixie"),
    "ubuntu-22.04": System("jammy", "main,universe", keys=True, strict=False, python="python3.11"),
    "ubuntu-24.04": System("noble", "main,universe", keys=True, strict=False),
    "fedora-43": System("43", by="dnf"),
}


class Absent(Exception):
    """The reason why a system cannot be made here, as a sentence."""


@contextlib.contextmanager
def scratch(name: str, keep: bool = False) -> Iterator[Path]:
    """Make a directory for trees that other users can enter; remove it afterwards unless it is to be kept."""
    place = Path(tempfile.mkdtemp(prefix=f"bt-{name}-", dir="/var/tmp"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        if keep:
            print(f"Kept: {place}")
        else:
            # Nothing is mounted in it here: what was mounted has gone with its namespace.
            shutil.rmtree(place, ignore_errors=True)


def make(system: System, tree: Path, packages: Sequence[str]) -> None:
    """Make the minimal machine, with these additional packages. Raises Absent when the program that makes it, or its
    source, is missing."""
    if shutil.which(system.by) is None:
        raise Absent(f"{system.by} is missing, which makes the minimal machine: apt-get install {system.by}")
    if system.by == "dnf":
        _fedora(system, tree, packages)
    else:
        keys = [f"--keyring={ubuntu_keys(tree.parent)}"] if system.keys else []
        words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--components={system.components}"]
        subprocess.run([*words, f"--include={','.join(packages)}", *keys, system.suite, str(tree)], check=True)
        (tree / CERTIFICATES).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("/") / CERTIFICATES, tree / CERTIFICATES)
    shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
    (tree / "opt/rust").mkdir(parents=True, exist_ok=True)


def _fedora(system: System, tree: Path, packages: Sequence[str]) -> None:
    where = METALINK.format(release=system.suite)
    try:
        with urllib.request.urlopen(where.replace("$basearch", "x86_64"), timeout=20):
            pass
    except (urllib.error.URLError, TimeoutError) as error:
        output = getattr(error, "reason", error)
        raise Absent(f"Fedora's list of mirrors cannot be had here: {where.partition('?')[0]}: {output}") from error
    repositories = tree.parent / "repositories"
    repositories.mkdir()
    text = f"[fedora]\nname=Fedora\nmetalink={where}\nsslverify=1\nenabled=1\n"
    (repositories / "fedora.repo").write_text(text)
    words = ["dnf", "-q", "-y", f"--installroot={tree}", f"--releasever={system.suite}", "install"]
    words += [f"--setopt=reposdir={repositories}", "--setopt=install_weak_deps=False", *packages]
    subprocess.run(words, check=True)


def ubuntu_keys(place: Path, suite: str = "noble") -> Path:
    """Fetch Ubuntu's archive keys, which sign every release and which Debian does not have.

    They are unpacked unverified, and accepted by a checksum known here.
    """
    tree = place / "keys"
    words = ["mmdebstrap", "--quiet", "--variant=extract", "--include=ubuntu-keyring", *UNVERIFIED]
    subprocess.run([*words, suite, str(tree)], check=True)
    checksum = hashlib.sha256((tree / KEYRING).read_bytes()).hexdigest()
    if checksum != KEYRING_SHA256:
        sys.exit(f"{KEYRING} of {suite} is not what is expected: its SHA-256 is {checksum}.")
    return tree / KEYRING


def rust(tree: Path) -> None:
    """Link this machine's Rust under its usual names; `run` puts it there on request."""
    for name in ("cargo", "rustc", "rustdoc"):
        (tree / "usr/local/bin" / name).symlink_to(f"/opt/rust/bin/{name}")


def run(
    tree: Path,
    command: str,
    variables: dict[str, str],
    with_rust: bool = False,
    network: bool = True,
    captured: bool = False,
) -> tuple[int, str]:
    """Run a command of the shell in the tree as root of that machine. Exit code, and what it said where `captured`."""
    toolchain = ""
    if with_rust:
        words = ["rustc", "--print", "sysroot"]
        toolchain = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **variables,
    }
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
    own += ["sh", "-e", "-c", INSIDE, "sh", str(tree), toolchain]
    inside = ["chroot", str(tree), "sh", "-c", command]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if captured else {}
    done = subprocess.run([*own, *inside], env=environment, check=False, text=True, **streams)  # type: ignore[call-overload]
    return done.returncode, done.stdout or ""
