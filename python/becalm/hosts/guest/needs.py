"""The files of this machine that a workload needs in a guest: its program and everything that it loads at start.

Files that a program opens or starts while it runs are not known beforehand: those that are named in its arguments or in
a shell script are included, others are requested with `&files=`.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from becalm.errors import WorkloadError
from becalm.hosts.guest import elf
from becalm.hosts.guest.libraries import CACHE, Loader
from becalm.nouns.workload import Workload

DLOPENED = ("libgcc_s.so.1",)
"""The libraries that glibc loads only when a thread is cancelled (pthread_cancel(3)), so that no program names them."""
KERNELS_OWN = ("/proc/", "/sys/", "/dev/")
"""The directories that the guest's own kernel provides."""
SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
LONGEST_SCRIPT = 1 << 20
"""The part of a script that is searched for names of programs, in bytes."""
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""The search path if PATH is not set, like that of the agent."""
INTERPRETERS = 4
"""The number of interpreters of interpreters that the kernel follows (execve(2))."""
LEFT_OUT = ("test", "tests", "idlelib", "ensurepip", "lib2to3", "tkinter", "turtledemo")
"""The parts of Python's library that no program needs to start; `&files=` includes them."""


class Needs(msgspec.Struct, frozen=True):
    """Paths to copy: `files` with the targets of their links, `trees` with their contents, `directories` without."""

    files: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        return Needs(self.files | other.files, self.trees | other.trees, self.directories | other.directories)

    def __sub__(self, other: Needs) -> Needs:
        return Needs(self.files - other.files, self.trees - other.trees, self.directories - other.directories)

    def __le__(self, other: Needs) -> bool:
        return self.files <= other.files and self.trees <= other.trees and self.directories <= other.directories


def of_workloads(workloads: Sequence[Workload], loader: Loader | None = None) -> Needs:
    """Return the needs of workloads. Raises WorkloadError if a program or a library is missing."""
    loader = loader or Loader()
    needs = Needs()
    near = [
        neighbour.workload
        for workload in workloads
        for neighbour in workload.alongside
        if not neighbour.workload.kernel
    ]
    for workload in (*workloads, *near):
        directory = os.path.normpath(os.path.join(os.getcwd(), workload.directory or "."))
        search = ProgramSearch(directory, {**os.environ, **dict(workload.environment)}, loader)
        if not os.path.isdir(directory):
            raise WorkloadError(f"There is no directory {directory} to run {workload.name or workload.argv[0]} in.")
        needs |= Needs(directories=frozenset([directory]))
        for command in (workload.argv, workload.setup, workload.prepare, workload.cleanup):
            # Files of the kernel, such as the agent as /proc/self/exe, exist in every guest.
            if command and not command[0].startswith(KERNELS_OWN):
                needs |= search.command(command)
        if workload.input:
            needs |= Needs(files=frozenset([os.path.normpath(os.path.join(directory, workload.input))]))
    return needs


def of_files(paths: Iterable[str], loader: Loader | None = None) -> Needs:
    """Return the needs of files and directories, with those of programs among them."""
    search = ProgramSearch("/", os.environ, loader or Loader())
    needs = Needs()
    for path in paths:
        if not os.path.isdir(path):
            needs |= search.named(path)
            continue
        needs |= Needs(trees=frozenset([path]))
        for directory, _, files in os.walk(path):
            for file in (os.path.join(directory, name) for name in files):
                if os.access(file, os.X_OK) and os.path.isfile(file):
                    needs |= search.named(file)
    return needs


@dataclass(frozen=True)
class ProgramSearch:
    """A search for the needs of commands in one directory and environment, which looks at each program once."""

    directory: str
    environment: Mapping[str, str]
    loader: Loader
    _seen: set[str] = field(default_factory=set)

    def command(self, command: Sequence[str]) -> Needs:
        """Return the needs of a command: its program, and files among its arguments. Raises WorkloadError."""
        program = self._which(command[0])
        if program is None:
            raise WorkloadError(
                f"There is no program {command[0]!r} on this machine. A guest gets its programs from here: install it."
            )
        needs = self.program(program)
        words = [*command[1:]]
        if os.path.basename(command[0]) in SHELLS:
            words = [name for word in words for name in (*_split(word), *_names(word))]
        for word in words:
            for name in (word, word.partition("=")[2]):
                needs |= self.named(name)
        return needs

    def named(self, word: str, depth: int = 0) -> Needs:
        """Return the needs of a word, which may name a file, a directory, a program, or nothing."""
        if not word or word.startswith("-") or "\0" in word:
            return Needs()
        path = os.path.normpath(os.path.join(self.directory, word))
        if f"{path}/".startswith(KERNELS_OWN):
            return Needs()
        if os.path.isdir(path):
            return Needs(directories=frozenset([path]))
        program = path if os.path.isfile(path) else None if "/" in word else self._which(word)
        if program is None:
            return Needs()
        if not os.access(program, os.X_OK):
            return Needs(files=frozenset([program]))
        try:
            return self.program(program, depth)
        except WorkloadError:
            # This may not be a program to run, so a missing library is not an error.
            return Needs(files=frozenset([program]))

    def program(self, path: str, depth: int = 0) -> Needs:
        """Return the needs of an executable file: interpreters, libraries, and files that a shell script names.

        Raises WorkloadError if something is missing that it needs to start.
        """
        if path in self._seen:
            return Needs()
        try:
            with open(path, "rb") as file:
                start = file.read(LONGEST_SCRIPT)
        except OSError as error:
            raise WorkloadError(f"The program {path} cannot be read: {error.strerror}.") from error
        self._seen.add(path)
        needs = Needs(files=frozenset([path]))
        if start[:4] == elf.MAGIC:
            return needs | self._binary(path)
        if start[:2] != b"#!" or depth >= INTERPRETERS:
            return needs
        first, _, text = os.fsdecode(start[2:]).partition("\n")
        interpreter, *words = first.split() or [""]
        program = self._which(interpreter)
        if program is None:
            raise WorkloadError(f"{path} needs the interpreter {interpreter}, which does not exist.")
        needs |= self.program(program, depth + 1)
        for word in words:
            needs |= self.named(word, depth + 1)
        if any(os.path.basename(word) in SHELLS for word in (interpreter, *words)):
            for word in _names(text):
                if self._which(word) is not None:
                    needs |= self.named(word, depth + 1)
        return needs

    def _binary(self, path: str) -> Needs:
        libraries = self.loader.libraries(path, self.environment.get("LD_LIBRARY_PATH", ""))
        files = set(libraries)
        if libraries:
            # Without its cache, the loader searches only the usual directories.
            directories = {os.path.dirname(library) for library in libraries}
            extra = [CACHE, *(f"{place}/{name}" for place in directories for name in DLOPENED)]
            files |= {file for file in extra if os.path.isfile(file)}
        return Needs(files=frozenset(files)) | self._language(path)

    def _language(self, program: str) -> Needs:
        """Return the standard library that a Python or Perl interpreter needs to start."""
        real = os.path.realpath(program)
        prefix = os.path.dirname(os.path.dirname(real))
        if version := re.fullmatch(r"python(3\.\d+)", os.path.basename(real)):
            needs = Needs()
            for library in glob.glob(f"{prefix}/lib/python{version[1]}"):
                for entry in os.scandir(library):
                    if entry.name in LEFT_OUT or entry.name.endswith("-packages"):
                        continue
                    paths = frozenset([entry.path])
                    needs |= Needs(trees=paths) if entry.is_dir() else Needs(files=paths)
                for module in glob.glob(f"{library}/lib-dynload/*.so"):
                    with contextlib.suppress(WorkloadError):
                        needs |= Needs(files=frozenset(self.loader.libraries(module)))
            # Python finds a virtual environment by a file next to the program's name (PEP 405).
            configuration = os.path.join(os.path.dirname(os.path.dirname(program)), "pyvenv.cfg")
            return needs | Needs(files=frozenset([configuration] if os.path.isfile(configuration) else []))
        if re.fullmatch(r"perl(5\.[\d.]+)?", os.path.basename(real)):
            trees = [*glob.glob("/usr/lib/*/perl-base"), *glob.glob(f"{prefix}/share/perl5/core_perl")]
            return Needs(trees=frozenset(trees))
        return Needs()

    def _which(self, name: str) -> str | None:
        """Return the absolute path of a program as the agent will find it, without resolving symbolic links."""
        if "/" in name:
            path = os.path.normpath(os.path.join(self.directory, name))
            return path if os.path.isfile(path) else None
        program = shutil.which(name, path=self.environment.get("PATH") or USUAL_PATH)
        return None if program is None else os.path.normpath(os.path.join(self.directory, program))


def _split(text: str) -> list[str]:
    """Return the words of a command line for a shell; split at blanks if its quotes are not balanced."""
    splitter = shlex.shlex(text, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = ""
    try:
        return list(splitter)
    except ValueError:
        return text.split()


def _names(text: str) -> set[str]:
    """Return the possible names in a shell script, also within quotes and substitutions, without comments."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return {word for line in lines for word in re.findall(r"[\w./+@%:,~-]+", line)}
