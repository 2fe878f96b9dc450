"""The files of this machine that a workload needs in a guest: its program and everything that it loads at start.

What a program opens or starts while it runs cannot be known beforehand: files and programs that are named among its
arguments or in a shell's script come along, others are asked for with `&files=`.
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
"""Bytes of a script that are looked through for names of programs."""
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""The search path where PATH is not set, as the agent's."""
INTERPRETERS = 4
"""The number of interpreters of interpreters that the kernel follows (execve(2))."""
LEFT_OUT = ("test", "tests", "idlelib", "ensurepip", "lib2to3", "tkinter", "turtledemo")
"""Parts of Python's library that no program needs to start; `&files=` brings them."""


@dataclass(frozen=True, slots=True)
class Needs:
    """`files`: with what they link to. `trees`: directories with all that is in them. `directories`: made, empty."""

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
    """Return everything that these workloads need. Raises WorkloadError when a program or a library is missing."""
    loader = loader or Loader()
    needs = Needs()
    near = [each.workload for workload in workloads for each in workload.beside if not each.workload.kernel]
    for workload in (*workloads, *near):
        directory = os.path.normpath(os.path.join(os.getcwd(), workload.directory or "."))
        search = ProgramSearch(directory, {**os.environ, **dict(workload.environment)}, loader)
        if not os.path.isdir(directory):
            raise WorkloadError(f"There is no directory {directory} to run {workload.name or workload.argv[0]} in.")
        needs |= Needs(directories=frozenset([directory]))
        for command in (workload.argv, workload.setup, workload.prepare, workload.cleanup):
            # What the kernel shows, such as the agent as /proc/self/exe, is there.
            if command and not command[0].startswith(KERNELS_OWN):
                needs |= search.command(command)
        if workload.input:
            needs |= Needs(files=frozenset([os.path.normpath(os.path.join(directory, workload.input))]))
    return needs


def of_files(paths: Iterable[str], loader: Loader | None = None) -> Needs:
    """Return files and directories by name, with the needs of programs among them."""
    search = ProgramSearch("/", os.environ, loader or Loader())
    needs = Needs()
    for path in paths:
        if not os.path.isdir(path):
            needs |= search.named(path)
            continue
        needs |= Needs(trees=frozenset([path]))
        for directory, _, files in os.walk(path):
            for each in (os.path.join(directory, name) for name in files):
                if os.access(each, os.X_OK) and os.path.isfile(each):
                    needs |= search.named(each)
    return needs


@dataclass(frozen=True)
class ProgramSearch:
    """Looks for what commands need, from one directory and with one environment, each program once."""

    directory: str
    environment: Mapping[str, str]
    loader: Loader
    _seen: set[str] = field(default_factory=set)

    def command(self, command: Sequence[str]) -> Needs:
        """Return the needs of a command: its program, and files among its arguments. Raises WorkloadError."""
        program = self._found(command[0])
        if program is None:
            raise WorkloadError(
                f"There is no program {command[0]!r} on this machine. A guest gets its programs from here: install it."
            )
        needs = self.program(program)
        words = [*command[1:]]
        if os.path.basename(command[0]) in SHELLS:
            words = [part for word in words for part in (*_split(word), *_mentioned(word))]
        for word in words:
            for each in (word, word.partition("=")[2]):
                needs |= self.named(each)
        return needs

    def named(self, word: str, depth: int = 0) -> Needs:
        """Return the needs of a word that may be the name of a file, a directory or a program, or none of them."""
        if not word or word.startswith("-") or "\0" in word:
            return Needs()
        path = os.path.normpath(os.path.join(self.directory, word))
        if f"{path}/".startswith(KERNELS_OWN):
            return Needs()
        if os.path.isdir(path):
            return Needs(directories=frozenset([path]))
        found = path if os.path.isfile(path) else None if "/" in word else self._found(word)
        if found is None:
            return Needs()
        if not os.access(found, os.X_OK):
            return Needs(files=frozenset([found]))
        try:
            return self.program(found, depth)
        except WorkloadError:
            # It was only guessed that this is to be run: what it lacks is no error.
            return Needs(files=frozenset([found]))

    def program(self, path: str, depth: int = 0) -> Needs:
        """Return the needs of an executable file: its interpreters, libraries, and files that a shell's script names.

        Raises WorkloadError when something is missing without which it cannot start.
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
        found = self._found(interpreter)
        if found is None:
            raise WorkloadError(f"{path} needs the interpreter {interpreter}, which is not there.")
        needs |= self.program(found, depth + 1)
        for word in words:
            needs |= self.named(word, depth + 1)
        if any(os.path.basename(word) in SHELLS for word in (interpreter, *words)):
            for word in _mentioned(text):
                if self._found(word) is not None:
                    needs |= self.named(word, depth + 1)
        return needs

    def _binary(self, path: str) -> Needs:
        libraries = self.loader.libraries(path, self.environment.get("LD_LIBRARY_PATH", ""))
        files = set(libraries)
        if libraries:
            # The loader's own list of where things are; without it only the usual directories are looked at.
            beside = {os.path.dirname(library) for library in libraries}
            extra = [CACHE, *(f"{place}/{name}" for place in beside for name in DLOPENED)]
            files |= {each for each in extra if os.path.isfile(each)}
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
                    part = frozenset([entry.path])
                    needs |= Needs(trees=part) if entry.is_dir() else Needs(files=part)
                for module in glob.glob(f"{library}/lib-dynload/*.so"):
                    with contextlib.suppress(WorkloadError):
                        needs |= Needs(files=frozenset(self.loader.libraries(module)))
            # A virtual environment is found by the file beside the program's own name (PEP 405).
            configuration = os.path.join(os.path.dirname(os.path.dirname(program)), "pyvenv.cfg")
            return needs | Needs(files=frozenset([configuration] if os.path.isfile(configuration) else []))
        if re.fullmatch(r"perl(5\.[\d.]+)?", os.path.basename(real)):
            trees = [*glob.glob("/usr/lib/*/perl-base"), *glob.glob(f"{prefix}/share/perl5/core_perl")]
            return Needs(trees=frozenset(trees))
        return Needs()

    def _found(self, name: str) -> str | None:
        """Return the absolute path of a program as the agent will find it, with its symbolic links as they are."""
        if "/" in name:
            path = os.path.normpath(os.path.join(self.directory, name))
            return path if os.path.isfile(path) else None
        found = shutil.which(name, path=self.environment.get("PATH") or USUAL_PATH)
        return None if found is None else os.path.normpath(os.path.join(self.directory, found))


def _split(text: str) -> list[str]:
    """Return the words of a shell's command line, as far as its quotes are balanced."""
    splitter = shlex.shlex(text, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = ""
    try:
        return list(splitter)
    except ValueError:
        return text.split()


def _mentioned(text: str) -> set[str]:
    """Return the possible names in a shell's script, also within quotes and substitutions; comments are left out."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return {word for line in lines for word in re.findall(r"[\w./+@%:,~-]+", line)}
