"""Becalm's packages on minimal machines: `python tools/installed.py [SYSTEM…]` (as root; `make installed`).

`make dist` has made them. A minimal Debian, Ubuntu or Fedora (`minimal.py`) is made for each row of `TRIES`, and what
that row names is installed there with what it depends on and nothing else: the Debian package by apt, the wheel by pip,
a wheelhouse and the sdist in a namespace without any network. Then an ordinary user asks each program in it to work,
completes a word, and reads the manual page; and when it was removed, nothing of it is left. The kernel is that of this
machine.

A system that cannot be made here is skipped, and says why; one that was named on the command line is then a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import minimal
import wheelhouse
from packages import DIST, TARGETS, here

APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root --no-install-recommends"
ENVIRONMENT = "/opt/becalm"
USER = "setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/user"
USERS = ("/packages", "/proc", "/sys", "/home", '"$HOME"')
NO_FILE = " ".join(f"-not -path {user}/'*'" for user in USERS)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that must work: `command` for the shell, by the ordinary user unless `root` is set."""

    what: str
    command: str
    root: bool = False
    network: bool = False
    rust: bool = False


@dataclass(frozen=True, slots=True)
class Try:
    """A trial of one package on one system.

    `file`: its name in dist/; `packages`: the other packages on the system; `wheelhouse`: the options with which its
    dependencies are collected.
    """

    system: str
    what: str
    file: str
    packages: tuple[str, ...]
    install: tuple[Step, ...]
    remove: tuple[Step, ...]
    wheelhouse: tuple[str, ...] = ()


def completes(place: str) -> str:
    """Return the command by which bash completes "becalm compa", by the script in a file."""
    return (
        f"bash -c '. {place} && COMP_WORDS=(becalm compa) COMP_CWORD=1 && _becalm_completion becalm 2>/dev/null;"
        ' echo "${COMPREPLY[*]}"\' | tee /dev/stderr | grep -qx compare'
    )


WORKS = (
    Step("says its version", "becalm --version"),
    Step("its agent starts and measures a program", "becalm run --runs 3 -- true | tee /dev/stderr | grep -q '3 runs'"),
    Step("compares on a simulated machine", "becalm compare --host sim:drift --runs 30 'spin 20ms' 'spin 20.2ms'"),
    Step(
        "writes a page",
        "becalm compare --host sim:drift --runs 30 --report /tmp/page.html 'spin 20ms' 'spin 21ms' >/dev/null"
        " && grep -q '</html>' /tmp/page.html && grep -q '<svg' /tmp/page.html",
    ),
    Step("shows what it keeps", "becalm list && becalm show last"),
    Step(
        "reports what is inside",
        "becalm --version --verbose | tee /dev/stderr | grep -Eq '^becalm-helper +[0-9.]+, .*static'",
    ),
    Step("its simulator simulates", "becalm simulate -- hackbench -g 1"),
    Step(
        "its timers can be loaded, and the clock is evaluated",
        '"$(find / -xdev -name becalm-timers -type f 2>/dev/null | head -n 1)" 2>&1 | grep "needs a REQUEST"'
        " && becalm clock --quick --timer clock_gettime --flush L1 --budget 2s",
    ),
    Step("says what the machine allows", "becalm doctor >/tmp/doctor && test -s /tmp/doctor"),
    Step("nothing is set", "becalm status"),
)
"""The steps that every package must pass."""

BY_HAND = (
    Step(
        "completes words",
        f"becalm --install-completion bash && {completes('~/.local/share/bash-completion/completions/becalm')}",
    ),
    Step(
        "has a manual page",
        "becalm --install-man && MANPATH=$HOME/.local/share/man man becalm | grep -q 'becalm compare'",
    ),
)
"""A wheel cannot bring these; becalm writes them for its user."""

BY_PACKAGE = (
    Step("all files are as they were packed", "dpkg --verify becalm", root=True),
    Step("completes words", completes("/usr/share/bash-completion/completions/becalm")),
    Step(
        "completes words for zsh and fish",
        "test -s /usr/share/zsh/vendor-completions/_becalm && test -s /usr/share/fish/vendor_completions.d/becalm.fish",
    ),
    Step("has a manual page", "man becalm | grep -q 'becalm compare'"),
)


def by_pip(words: str, *, network: bool, rust: bool = False) -> tuple[Step, ...]:
    """Install what lies in /packages into an environment of its own."""
    # Without a network, what it depends on is the distribution's.
    venv = f"python3 -m venv {ENVIRONMENT}{'' if network else ' --system-site-packages'}"
    pip = f"{venv} && {ENVIRONMENT}/bin/pip install -q --disable-pip-version-check --root-user-action ignore {words}"
    return (Step("installs", pip, root=True, network=network, rust=rust),)


def offline(options: tuple[str, ...], python: str = "python3") -> tuple[Step, ...]:
    """Install a wheelhouse in a machine without a network. `options`: what it was collected with, for its name."""
    pip = f"{python} -m venv {ENVIRONMENT} && {ENVIRONMENT}/bin/pip install -q --disable-pip-version-check"
    what = f"installs without a network ({' '.join(options)})"
    return (Step(what, f"{pip} --no-index --find-links /packages becalm", root=True),)


def gone(command: str) -> tuple[Step, ...]:
    """Remove it, and look for what is left. What users keep, root among them, is theirs."""
    left = f'left=$(find / -xdev -iname "*becalm*" {NO_FILE}); test -z "$left" || {{ echo "left: $left"; false; }}'
    return (Step("nothing of it is left when it is removed", f"{command} && {left}", root=True),)


DEBIAN = ("apt", "ca-certificates", "man-db")
PYTHON = ("python3", "python3-venv")
APART = gone(f"rm -r {ENVIRONMENT}")
NOBLE = ("--python", "3.12", "--glibc", "2.39")
JAMMY = ("--python", "3.11", "--glibc", "2.35")

TRIES = (
    Try(
        "debian-12", "the wheel", "becalm-*-manylinux_*_{wheel}.whl", (*DEBIAN, *PYTHON),
        (*by_pip("/packages/*.whl", network=True), *BY_HAND), APART,
    ),
    Try(
        "ubuntu-24.04", "the wheelhouse", "becalm-*-manylinux_*_{wheel}.whl", ("man-db", *PYTHON),
        (*offline(NOBLE), *BY_HAND), APART, NOBLE,
    ),
    Try(
        "ubuntu-22.04", "the wheelhouse", "becalm-*-manylinux_*_{wheel}.whl",
        ("man-db", "python3.11", "python3.11-venv"), (*offline(JAMMY, "python3.11"), *BY_HAND), APART, JAMMY,
    ),
    Try(
        "debian-13", "the Debian package", "becalm_*_{debian}.deb", DEBIAN,
        (
            Step(
                "installs with what it depends on",
                f"{APT} update && {APT} install /packages/*.deb >/dev/null && dpkg --audit",
                root=True, network=True,
            ),
            *BY_PACKAGE,
        ),
        gone(f"{APT} purge becalm >/dev/null"),
    ),
    Try(
        "debian-13", "the sdist", "becalm-*.tar.gz",
        (
            *DEBIAN, *PYTHON, "gcc", "libc6-dev", "python3-pip", "python3-setuptools-rust", "python3-wheel",
            "python3-click", "python3-numpy", "python3-rich", "python3-scipy", "python3-jinja2", "python3-matplotlib",
            "python3-cloudpickle", "python3-msgspec",
        ),
        (
            *by_pip("--no-index --no-build-isolation --no-deps /packages/*.tar.gz", network=False, rust=True),
            *BY_HAND,
        ),
        APART,
    ),
    Try(
        "fedora-43", "the wheel", "becalm-*-manylinux_*_{wheel}.whl",
        ("bash", "coreutils", "findutils", "grep", "man-db", "python3", "python3-pip", "util-linux"),
        (*by_pip("/packages/*.whl", network=True), *BY_HAND), APART,
    ),
)  # fmt: skip
"""The trials, in their order. Debian 12 has no NumPy 1.26, which the Debian package needs: there it is the wheel."""


def package(trial: Try, dist: Path = DIST) -> Path:
    """Return the newest package of this machine's kind for a trial. Raises Absent when there is none."""
    target = next((result for result in TARGETS if result.wheel == here()), None)
    names = {} if target is None else {"wheel": target.wheel, "debian": target.debian}
    packages = sorted(dist.glob(trial.file.format_map({"wheel": "?", "debian": "?", **names})), key=os.path.getmtime)
    if not packages:
        raise minimal.Absent(f"{dist.name}/ has nothing like {trial.file} for this machine: make dist")
    return packages[-1]


def prepare(tree: Path, trial: Try, path: Path) -> None:
    """Prepare the minimal machine with one user, and the package in it."""
    minimal.make(minimal.SYSTEMS[trial.system], tree, trial.packages)
    (tree / "packages").mkdir()
    if trial.wheelhouse:
        wheelhouse.collect(path, tree / "packages", trial.wheelhouse)
    else:
        shutil.copy(path, tree / "packages" / path.name)
    (tree / "home/user").mkdir()
    os.chown(tree / "home/user", 1000, 1000)
    with (tree / "etc/passwd").open("a", encoding="utf-8") as file:
        file.write("user:x:1000:1000::/home/user:/bin/sh\n")
    if any(step.rust for step in trial.install):
        minimal.rust(tree)


def take(tree: Path, step: Step) -> tuple[int, str]:
    """Run a step in the tree; exit code and what it said."""
    path = f"{ENVIRONMENT}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    script = "/tmp/step"
    (tree / script[1:]).write_text(step.command + "\n")
    command = f"cd /tmp && {'' if step.root else USER + ' '}sh -e {script}"
    network = step.network
    variables = {"PATH": path, "COLUMNS": "100", "MANPAGER": "cat"}
    return minimal.run(tree, command, variables, with_rust=step.rust, network=network, captured=True)


def attempt(trial: Try, keep: bool) -> bool:
    """Return whether a package works on its system; print each step. Raises Absent when it cannot be tried here."""
    path = package(trial)
    print(f"\n{trial.system}: {trial.what}, {path.name}", flush=True)
    with minimal.scratch(f"installed-{trial.system}", keep) as place:
        prepare(place / "tree", trial, path)
        for step in (*trial.install, *WORKS, *trial.remove):
            began = time.monotonic()
            code, recovery = take(place / "tree", step)
            print(f"  {'ok    ' if code == 0 else 'failed'} {step.what} ({time.monotonic() - began:.0f} s)", flush=True)
            if code != 0:
                print(f"{step.command}\nended with {code}:\n{recovery}")
                return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials, and return 0 when every step has ended well on every system that was named, or that can be made
    here."""
    systems = list(dict.fromkeys(item.system for item in TRIES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"{', '.join(systems)}; all when none is named")
    parser.add_argument("--keep", action="store_true", help="leave the trees in /var/tmp")
    args = parser.parse_args(arguments)
    if unknown := set(args.systems) - set(systems):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if os.geteuid() != 0:
        parser.error("root is needed, for namespaces and packages")
    messages, bad = [], False
    for trial in TRIES:
        if args.systems and trial.system not in args.systems:
            continue
        try:
            good = attempt(trial, args.keep)
            messages.append((trial, "installed, worked and was gone again" if good else "failed"))
            bad |= not good
        except minimal.Absent as reason:
            messages.append((trial, f"skipped. {reason}"))
            bad |= bool(args.systems)
    print()
    for trial, outcome in messages:
        print(f"{trial.system:<10} {trial.what:<18} {outcome}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
