"""The README's two commands on a minimal machine: `python tools/fresh.py debian-12 debian-13 ubuntu-24.04` (as root).

mmdebstrap makes a tree with the distribution's smallest set of packages, Python, make and the certificates without
which nothing can be fetched; Rust's toolchain of this machine is put beside it. `make demo` and `make test` then run in
it, in mount and process namespaces of their own, with the kernel of this machine. What nobody has installed is missing
there, and a failure with CI=true, as the Debians have it. On Ubuntu, which lacks Debian's kernels, it is a skip.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = "python3,make,ca-certificates,apt"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
COMMANDS = ("make demo", "make test")

PASSED_ON = (
    *("PIP_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CARGO_HTTP_CAINFO"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""How this machine reaches the archives of packages."""

KEYRING = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
KEYRING_SHA256 = "80a36b0a6de2f69f49d2df75ef473ccde121e9e190b9ea01d20a4f63778d5c31"
"""Of ubuntu-keyring 2023.11.28.1: the Archive Automatic Signing Key of 2018, F6EC B376 2474 EDA9 D21B 7022 8719 20D1
991B C93C."""

UNVERIFIED = (
    *("--aptopt=Acquire::AllowInsecureRepositories true", "--aptopt=APT::Get::AllowUnauthenticated true"),
    "--skip=check/signed-by",
)


@dataclass(frozen=True)
class System:
    """A distribution to try; mmdebstrap knows where its release comes from. `keys`: whether they are to be fetched.
    `strict`: what is missing there is a failure."""

    suite: str
    components: str = "main"
    keys: bool = False
    strict: bool = True


SYSTEMS = {
    "debian-12": System("bookworm"),
    "debian-13": System("trixie"),
    "ubuntu-24.04": System("noble", "main,universe", keys=True, strict=False),
}

# The root of a machine is a mount point: without that no program there can have mounts of its own.
INSIDE = """
mount --bind "$1" "$1"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 none "$1/run"
mount --bind -o ro "$2" "$1/opt/rust"
cd "$1"
shift 2
exec "$@"
"""


def make_tree(system: System, tree: Path) -> None:
    """The minimal machine."""
    keys = [f"--keyring={ubuntu_keys(system, tree.parent)}"] if system.keys else []
    words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--components={system.components}"]
    subprocess.run([*words, f"--include={PACKAGES}", *keys, system.suite, str(tree)], check=True)
    shutil.copy(Path("/") / CERTIFICATES, tree / CERTIFICATES)
    shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
    (tree / "opt/rust").mkdir()
    for name in ("cargo", "rustc", "rustdoc"):
        (tree / "usr/local/bin" / name).symlink_to(f"/opt/rust/bin/{name}")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            target = tree / "becalm" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    # As `git clone` gives it.
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tree / "becalm", check=True)


def ubuntu_keys(system: System, scratch: Path) -> Path:
    """Ubuntu's archive keys, which Debian does not have: unpacked unverified, and taken by a checksum known here."""
    tree = scratch / "keys"
    words = ["mmdebstrap", "--quiet", "--variant=extract", "--include=ubuntu-keyring", *UNVERIFIED]
    subprocess.run([*words, system.suite, str(tree)], check=True)
    found = hashlib.sha256((tree / KEYRING).read_bytes()).hexdigest()
    if found != KEYRING_SHA256:
        sys.exit(f"{KEYRING} of {system.suite} is not what is expected: its SHA-256 is {found}.")
    return tree / KEYRING


def run(tree: Path, system: System, command: str) -> int:
    """Run it in the tree, as root would on that machine. Returns the exit code."""
    rust = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    if system.strict:
        environment["CI"] = "true"
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", INSIDE, "sh", str(tree), rust]
    inside = ["chroot", str(tree), "sh", "-c", f"cd /becalm && {command}"]
    return subprocess.run([*own, *inside], env=environment, check=False).returncode


def try_system(name: str, commands: tuple[str, ...], keep: bool) -> list[tuple[str, str, float, int]]:
    """Name, command, seconds and exit code of each command; after a failure nothing more is tried."""
    scratch = Path(tempfile.mkdtemp(prefix=f"becalm-fresh-{name}-", dir="/var/tmp"))
    # Programs of the tests run as other users, too.
    scratch.chmod(0o755)
    tree, done = scratch / "tree", []
    try:
        began = time.monotonic()
        make_tree(SYSTEMS[name], tree)
        done.append((name, "(a minimal machine)", time.monotonic() - began, 0))
        for command in commands:
            print(f"\n=== {name}: {command}", flush=True)
            began = time.monotonic()
            code = run(tree, SYSTEMS[name], command)
            done.append((name, command, time.monotonic() - began, code))
            if code != 0:
                break
    finally:
        if keep:
            print(f"Kept: {tree}")
        else:
            # Nothing is mounted in it here: what was mounted has gone with its namespace.
            shutil.rmtree(scratch, ignore_errors=True)
    return done


def main() -> int:
    """Returns 0 when every command has ended well on every system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"{', '.join(SYSTEMS)}; all when none is named")
    parser.add_argument("--command", action="append", help="instead of `make demo` and `make test`")
    parser.add_argument("--keep", action="store_true", help="leave the trees in /var/tmp")
    given = parser.parse_args()
    if unknown := set(given.systems) - SYSTEMS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if os.geteuid() != 0:
        parser.error("root is needed, for namespaces and packages")
    done = []
    for name in given.systems or SYSTEMS:
        done += try_system(name, tuple(given.command or COMMANDS), given.keep)
    print()
    for name, command, seconds, code in done:
        print(f"{name:<14} {command:<40} {seconds:7.0f} s  {'ok' if code == 0 else f'failed ({code})'}")
    return int(any(code for *_, code in done))


if __name__ == "__main__":
    sys.exit(main())
