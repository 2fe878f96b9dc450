"""The source `phoronix`: a test that the Phoronix Test Suite has installed, run as the suite runs it.

The suite starts a test as `exec ./EXECUTABLE ARGUMENTS` in the test's directory with that directory as HOME, and sets
variables (pts_test_execution.php, pts_tests.php, pts_client.php of version 10.8). This source does the same without a
shell; becalm measures the time of the process, instead of reading the suite's result from LOG_FILE.
"""

from __future__ import annotations

import difflib
import json
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from becalm.errors import UsageError
from becalm.nouns.workload import Workload
from becalm.workloads.phoronix_profile import Choice, PhoronixMachine, PhoronixProfile, base_name, read, words
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account

LOG = "becalm.log"
"""The file in a test's directory for its result; it must be a regular file, because some tests move files onto it."""

SYSTEM = Path("/var/lib/phoronix-test-suite")
"""The suite's directory if it runs as root; its configuration is then in /etc."""


class Installation(msgspec.Struct, frozen=True):
    """The suite's directories: installed tests and profiles, each in a directory per repository (pts, local)."""

    tests: Path
    profiles: Path

    def identifiers(self) -> list[str]:
        """Return the identifiers of all installed tests, such as pts/compress-gzip-1.2.0."""
        return sorted(f"{path.parent.name}/{path.name}" for path in self.tests.glob("*/*") if path.is_dir())


def open_phoronix(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the workloads of a test `REPOSITORY/NAME` or `NAME`, with or without its version and options after colons.

    There is one workload with default options, or one for each combination of the picked entries. Raises UsageError
    if the suite, the test, its program or an option does not exist.
    """
    name, *picked = text.split(":")
    installation, identifier = find(name, program_options)
    profile = read(identifier, installation.profiles, machine())
    directory = installation.tests / identifier
    program = directory / profile.executable
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise UsageError(
            f"The installed test {identifier} has no executable program {program}. "
            f"Install it again: phoronix-test-suite force-install {identifier}"
        )
    if profile.requires_root and (os.geteuid() != 0 or account(program_options.user) is not None):
        raise UsageError(f"The test {identifier} runs as root only. Run becalm as root, with --user root.")
    environment = variables(profile, installation)
    # A file of an earlier run must not make the next run fail.
    (directory / "test-exit-status").unlink(missing_ok=True)
    return tuple(
        _workload(profile, installation, program_options, environment, choices)
        for choices in profile.combinations(picked)
    )


def find(name: str, program_options: ProgramOptions) -> tuple[Installation, str]:
    """Return the installation with a test, and the identifier of its newest version.

    Raises UsageError, with the command that installs the test, if there is none.
    """
    installations = places(program_options)
    for installation in installations:
        identifiers = [identifier for identifier in installation.identifiers() if matches(identifier, name)]
        if identifiers:
            return installation, max(identifiers, key=_version)
    known = sorted({identifier for installation in installations for identifier in installation.identifiers()})
    short = {base_name(identifier): identifier for identifier in known}
    near = difflib.get_close_matches(base_name(name), short, n=1)
    hint = f" Did you mean phoronix:{short[near[0]]}?" if near else ""
    full = name if "/" in name else f"pts/{name}"
    looked = ", ".join(str(installation.tests) for installation in installations)
    raise UsageError(
        f"The Phoronix Test Suite has no test {name!r} installed (looked in {looked}).{hint} "
        f"Install it: phoronix-test-suite install {full}"
    )


def matches(identifier: str, name: str) -> bool:
    """Return whether a name, with or without repository and version, matches an identifier such as
    pts/compress-gzip-1.2.0."""
    repository, _, test = identifier.partition("/")
    if "/" in name:
        prefix, _, name = name.partition("/")
        if prefix != repository:
            return False
    return name in (test, base_name(test))


def places(program_options: ProgramOptions) -> list[Installation]:
    """Return the possible directories of the suite: /var/lib for root, the home directory for other users.

    PTS_USER_PATH_OVERRIDE, PTS_TEST_INSTALL_ROOT_PATH and EnvironmentDirectory in its configuration change them.
    """
    override = os.environ.get("PTS_USER_PATH_OVERRIDE", "")
    owner = account(program_options.user)
    home = Path(owner.home) if owner else Path.home()
    own = home / ".phoronix-test-suite"
    roots = [Path(override)] if override and Path(override).is_dir() else [own, SYSTEM]
    if os.geteuid() == 0 and owner is None and roots[-1] == SYSTEM:
        roots.reverse()
    return [Installation(_tests(root), root / "test-profiles") for root in roots]


def _tests(root: Path) -> Path:
    override = os.environ.get("PTS_TEST_INSTALL_ROOT_PATH", "")
    if override and Path(override).is_dir():
        return Path(override)
    try:
        file = Path("/etc/phoronix-test-suite.xml") if root == SYSTEM else root / "user-config.xml"
        configured = ElementTree.parse(file).getroot()
        text = configured.findtext("Options/Installation/EnvironmentDirectory") or ""
    except (OSError, ElementTree.ParseError):
        text = ""
    usual = "~/.phoronix-test-suite"
    if not text.strip() or text.strip().startswith(usual):
        return root / (text.strip().removeprefix(usual).strip("/") or "installed-tests")
    return Path(text.strip()).expanduser()


def variables(profile: PhoronixProfile, installation: Installation) -> dict[str, str]:
    """Return the variables that the suite sets for a test, as far as tests use them (its documentation, "Test
    scripts").

    Numbers describe this machine now, and stay the same for all runs.
    """
    directory = installation.tests / profile.identifier
    cpus, cores = profile.machine.cpus, profile.machine.cores
    variables = {
        "NUM_CPU_CORES": cpus,
        "OMP_NUM_THREADS": cpus,
        "NUM_CPU_JOBS": 2 * cpus,
        "NUM_CPU_PHYSICAL_CORES": cores,
        "CPU_THREADS_PER_CORE": max(cpus // cores, 1),
        "NUM_CPU_NODES": max(len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))), 1),
        "SYS_MEMORY": profile.machine.memory_mb,
        "OS_TYPE": "Linux",
        "OS_ARCH": platform.machine(),
        "HOME": f"{directory}/",
        "DEBUG_HOME": f"{directory}/",
        "DEBUG_REAL_HOME": f"{Path.home()}/",
        "LOG_FILE": directory / LOG,
        **dict.fromkeys(("LC_ALL", "LC_NUMERIC", "LC_CTYPE", "LC_MESSAGES", "LANG"), ""),
        "vblank_mode": 0,
        "__GL_SYNC_TO_VBLANK": 0,
        "CCACHE_DISABLE": 1,
        "OMPI_ALLOW_RUN_AS_ROOT": 1,
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1,
    }
    path = os.environ.get("PATH", os.defpath)
    for number, parent in enumerate(profile.parents):
        place = f"{installation.tests / parent}/"
        if number == 0:
            variables["TEST_EXTENDS"] = place
        if Path(place).is_dir():
            path = f"{place}:{path}"
            variables["TEST_" + base_name(parent).upper().replace("-", "_")] = place
    return {"PATH": path, **{name: str(value) for name, value in variables.items()}}


def machine() -> PhoronixMachine:
    """Return the properties of this machine for menus and variables."""
    cpus = os.cpu_count() or 1
    lists = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    # Threads of a core have the same list; without lists, every CPU counts as a core.
    cores = len({path.read_text().strip() for path in lists}) or cpus
    return PhoronixMachine(cpus, cores, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)


def _workload(
    profile: PhoronixProfile,
    installation: Installation,
    program_options: ProgramOptions,
    environment: dict[str, str],
    choices: Sequence[Choice],
) -> Workload:
    directory = installation.tests / profile.identifier
    text = profile.arguments(choices)
    known = {**os.environ, **environment, **dict(program_options.options.get("environment") or {})}
    passed = [] if program_options.shell else words(text, known)

    def command(*program: str) -> list[str]:
        if program_options.shell:
            return ["/bin/sh", "-c", f"exec {shlex.join(program)} {text}".rstrip()]
        return [*program, *passed]

    # The suite runs these scripts with bash if it exists (pts_tests::call_test_script).
    shell = shutil.which("bash") or "/bin/sh"
    before, after = ([command(shell, script) for script in _scripts(profile, installation, n)] for n in ("pre", "post"))
    hook = [sys.executable, "-I", str(Path(__file__).with_name("phoronix_hook.py"))]
    picked = ", ".join(name for _, name, _ in choices)
    return program_options.workload(
        command(str(directory / profile.executable)),
        environment=environment,
        name=f"{profile.identifier} ({picked})" if picked else profile.identifier,
        directory=str(directory),
        prepare=(*hook, "before", str(directory), environment["LOG_FILE"], json.dumps(before)),
        cleanup=(*hook, "after", str(directory), json.dumps(after)) if after else None,
        parameters=tuple(sorted((option.identifier, name) for option, name, _ in choices)),
    )


def _scripts(profile: PhoronixProfile, installation: Installation, name: str) -> list[str]:
    """Return the scripts before or after a run: the test's own, then those of tests that it extends, preferring one for
    Linux."""
    result = []
    for test in (profile.identifier, *profile.parents):
        files = [installation.profiles / test / file for file in (f"{name}_linux.sh", f"{name}.sh")]
        result += [str(file) for file in files if file.is_file()][:1]
    return result


def _version(identifier: str) -> tuple[int, ...]:
    match = re.search(r"-(\d+(?:\.\d+)*)$", identifier)
    return tuple(int(part) for part in match[1].split(".")) if match else ()
