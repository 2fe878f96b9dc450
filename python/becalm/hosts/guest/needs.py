"""Which files of this machine a workload needs in a guest: its program and everything that program loads at start.

What a program opens while it runs cannot be known beforehand: files that are named among its arguments come along,
others are asked for with `&files=`.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from becalm.errors import WorkloadError
from becalm.hosts.guest import elf
from becalm.hosts.guest.libraries import CACHE, Loader
from becalm.nouns import Workload

DLOPENED = ("libgcc_s.so.1",)
"""What glibc loads only when a thread is cancelled (pthread_cancel(3)), so that no program names it."""
KERNELS_OWN = ("/proc/", "/sys/", "/dev/")
"""What is below these the guest's own kernel provides."""
INTERPRETERS = 4
"""How many interpreters of interpreters the kernel follows (execve(2))."""
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

    def __le__(self, other: Needs) -> bool:
        return self.files <= other.files and self.trees <= other.trees and self.directories <= other.directories


def of_workloads(workloads: Sequence[Workload], loader: Loader | None = None) -> Needs:
    """All that these workloads need. Raises WorkloadError when a program or a library is not there."""
    loader = loader or Loader()
    needs = Needs()
    for workload in workloads:
        environment = {**os.environ, **dict(workload.environment)}
        directory = os.path.join(os.getcwd(), workload.directory or ".")
        needs |= Needs(directories=frozenset([os.path.normpath(directory)]))
        for command in (workload.argv, workload.prepare, workload.cleanup):
            if command:
                needs |= of_command(command, directory, environment, loader)
        if workload.input:
            needs |= Needs(files=frozenset([os.path.normpath(os.path.join(directory, workload.input))]))
    return needs


def of_command(
    command: Sequence[str], directory: str, environment: Mapping[str, str], loader: Loader | None = None
) -> Needs:
    """What one command needs: its program, and files and programs that its arguments name."""
    loader = loader or Loader()
    program = _found(command[0], directory, environment)
    if program is None:
        raise WorkloadError(
            f"There is no program {command[0]!r} on this machine. A guest gets its programs from here: install it."
        )
    needs = of_program(program, directory, environment, loader)
    for word in _words(command):
        path = os.path.normpath(os.path.join(directory, word))
        if path.startswith(KERNELS_OWN):
            continue
        if os.path.isdir(path):
            needs |= Needs(directories=frozenset([path]))
        elif os.path.isfile(path):
            runs = os.access(path, os.X_OK)
            needs |= _loaded(path, directory, environment, loader) if runs else Needs(files=frozenset([path]))
        elif "/" not in word and (other := _found(word, directory, environment)) is not None:
            needs |= _loaded(other, directory, environment, loader)
    return needs


def _loaded(path: str, directory: str, environment: Mapping[str, str], loader: Loader) -> Needs:
    """As of_program, for what may be a program or just looks like one: what is missing for it is no error."""
    try:
        return of_program(path, directory, environment, loader)
    except WorkloadError:
        return Needs(files=frozenset([path]))


def of_program(path: str, directory: str, environment: Mapping[str, str], loader: Loader, depth: int = 0) -> Needs:
    """An executable file with its interpreters, libraries, and the library of a scripting language."""
    try:
        with open(path, "rb") as file:
            start = file.read(256)
    except OSError as error:
        raise WorkloadError(f"The program {path} cannot be read: {error.strerror}.") from error
    needs = Needs(files=frozenset([path]))
    if start[:4] == elf.MAGIC:
        libraries = loader.libraries(path, environment.get("LD_LIBRARY_PATH", ""))
        needs |= Needs(files=frozenset(libraries))
        if libraries:
            # The loader's own list of where things are; without it only the usual directories are looked at.
            needs |= Needs(files=frozenset(each for each in (CACHE,) if os.path.isfile(each)))
            beside = {os.path.dirname(each) for each in libraries}
            extra = {f"{place}/{name}" for place in beside for name in DLOPENED}
            needs |= Needs(files=frozenset(each for each in extra if os.path.isfile(each)))
        return needs | of_language(path, loader)
    if start[:2] == b"#!" and depth < INTERPRETERS:
        words = os.fsdecode(start[2:].split(b"\n")[0]).split(maxsplit=1)
        for word in words[:1] + (_words(["env", *words[1].split()]) if words[1:] else []):
            interpreter = _found(word, directory, environment)
            if interpreter is not None:
                needs |= of_program(interpreter, directory, environment, loader, depth + 1)
            elif word == words[0]:
                raise WorkloadError(f"{path} needs the interpreter {word}, which is not there.")
    return needs


def of_language(program: str, loader: Loader) -> Needs:
    """The standard library of a Python or Perl interpreter, which it cannot start without."""
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
                needs |= _loaded(module, library, {}, loader)
        # A virtual environment is found by the file beside the program's own name (PEP 405).
        configuration = os.path.join(os.path.dirname(os.path.dirname(program)), "pyvenv.cfg")
        return needs | Needs(files=frozenset([configuration] if os.path.isfile(configuration) else []))
    if re.fullmatch(r"perl(5\.[\d.]+)?", os.path.basename(real)):
        trees = [*glob.glob("/usr/lib/*/perl-base"), *glob.glob(f"{prefix}/share/perl5/core_perl")]
        return Needs(trees=frozenset(trees))
    return Needs()


def _found(name: str, directory: str, environment: Mapping[str, str]) -> str | None:
    """The absolute path of a program as the agent will look for it, with its symbolic links as they are."""
    if "/" in name:
        path = os.path.normpath(os.path.join(directory, name))
        return path if os.path.isfile(path) else None
    path_variable = environment.get("PATH") or "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    found = shutil.which(name, path=path_variable)
    return None if found is None else os.path.normpath(os.path.join(directory, found))


def _words(command: Sequence[str]) -> list[str]:
    """Words of a command's arguments that may be names of files or programs; a shell's script is split first."""
    words = [*command[1:]]
    if os.path.basename(command[0]) in ("sh", "bash", "dash", "zsh", "ksh"):
        words = [part for word in words for part in _script(word)]
    values = [word.split("=", 1)[1] for word in words if "=" in word]
    return [word for word in (*words, *values) if word and not word.startswith("-") and "\0" not in word]


def _script(text: str) -> Iterator[str]:
    splitter = shlex.shlex(text, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = ""
    try:
        yield from splitter
    except ValueError:
        yield from text.split()
