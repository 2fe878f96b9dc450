"""Finding shared libraries as the dynamic loader does (ld.so(8)), without running it or the program."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from becalm.errors import WorkloadError
from becalm.hosts.guest import elf

USUAL = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"),
)
"""The directories built into loaders: the first two in Debian's, the next in others, the last in musl's."""

CACHE = "/etc/ld.so.cache"
CACHE_MAGIC = b"glibc-ld.so.cache1.1"
CACHE_X86_64 = 0x0303
"""`flags` of an entry: FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 (glibc, sysdeps/generic/dl-cache.h)."""

TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM))")


def cached(data: bytes) -> dict[str, list[str]]:
    """Return the paths of all variants by library name, from an /etc/ld.so.cache (glibc, struct cache_file_new)."""
    start = data.find(CACHE_MAGIC)
    result: dict[str, list[str]] = {}
    if start < 0:
        return result
    (count,) = struct.unpack_from("<I", data, start + 20)
    for index in range(count):
        at = start + 48 + index * 24
        if at + 24 > len(data):
            break
        flags, key, value = struct.unpack_from("<iII", data, at)
        if flags == CACHE_X86_64:
            result.setdefault(_string(data, start + key), []).append(_string(data, start + value))
    return result


def _string(data: bytes, at: int) -> str:
    return os.fsdecode(data[at : data.find(b"\0", at)])


@dataclass
class Loader:
    """A finder of libraries below `root`, which reads each file once."""

    root: Path = Path("/")
    _seen: dict[str, elf.Elf | None] = field(default_factory=dict)
    _cache: dict[str, list[str]] | None = None

    def libraries(self, program: str, environment_path: str = "") -> set[str]:
        """Return the interpreter and all libraries of an ELF program, by absolute path; none for a static one.

        `environment_path`: LD_LIBRARY_PATH of the workload. Raises WorkloadError if a library is missing or the
        program is for another processor.
        """
        elf_file = self._elf(program)
        if elf_file is None:
            raise WorkloadError(f"{program} cannot run in a guest: {self._why(program)}.")
        if elf_file.machine != elf.X86_64:
            raise WorkloadError(f"{program} cannot run in a guest: it is for another processor than x86-64.")
        result: set[str] = set()
        if elf_file.interpreter:
            result.add(elf_file.interpreter)
            if not self._exists(elf_file.interpreter):
                raise WorkloadError(f"{program} needs the dynamic loader {elf_file.interpreter}, which does not exist.")
        search_path = [directory for directory in environment_path.split(":") if directory]
        waiting: list[tuple[str, elf.Elf, tuple[str, ...]]] = [(program, elf_file, ())]
        while waiting:
            path, binary, inherited = waiting.pop()
            # DT_RPATH applies to the dependencies of a library, too, unless there is a DT_RUNPATH.
            rpath = () if binary.runpath else (*_places(binary.rpath, path), *inherited)
            for name in binary.needed:
                places = [*rpath, *search_path, *_places(binary.runpath, path)]
                paths = self._find(name, places)
                if not paths:
                    raise WorkloadError(
                        f"{program} needs the library {name}, which was not found ({path} asks for it). "
                        "Install the package that has it, or set LD_LIBRARY_PATH."
                    )
                for library_path in paths:
                    if library_path not in result:
                        result.add(library_path)
                        library = self._elf(library_path)
                        if library is not None:
                            waiting.append((library_path, library, rpath))
        return result

    def _find(self, name: str, places: Iterable[str]) -> list[str]:
        if "/" in name:
            return [name] if self._fits(name) else []
        for place in places:
            if self._fits(f"{place}/{name}"):
                return [f"{place}/{name}"]
        if self._cache is None:
            try:
                self._cache = cached(self._file(CACHE).read_bytes())
            except OSError:
                self._cache = {}
        # All variants for other processor levels are included: the guest's processor decides which one is used.
        paths = [path for path in self._cache.get(name, []) if self._fits(path)]
        return paths or [f"{place}/{name}" for place in USUAL if self._fits(f"{place}/{name}")][:1]

    def _fits(self, path: str) -> bool:
        elf_file = self._elf(path) if self._exists(path) else None
        return elf_file is not None and elf_file.machine == elf.X86_64

    def _elf(self, path: str) -> elf.Elf | None:
        if path not in self._seen:
            try:
                self._seen[path] = elf.read(self._file(path).read_bytes())
            except (OSError, elf.NotSuitable):
                self._seen[path] = None
        return self._seen[path]

    def _why(self, path: str) -> str:
        try:
            elf.read(self._file(path).read_bytes())
        except (OSError, elf.NotSuitable) as error:
            return str(error)
        return "it cannot be read"

    def _exists(self, path: str) -> bool:
        return self._file(path).is_file()

    def _file(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def _places(texts: Iterable[str], path: str) -> list[str]:
    """Return the directories of DT_RPATH or DT_RUNPATH, with the tokens of ld.so(8) replaced."""
    origin = os.path.dirname(os.path.realpath(path))
    tokens = {"ORIGIN": origin, "LIB": "lib", "PLATFORM": "x86_64"}
    return [TOKEN.sub(lambda match: tokens[match[1] or match[2]], text) for text in texts]
