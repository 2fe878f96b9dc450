"""The needs that an ELF file states: interpreter, shared libraries, search paths; and notes of a kernel module.

This follows elf(5) and the System V gABI, chapters 4 and 5, for 64-bit little-endian files.
"""

from __future__ import annotations

import struct

import msgspec

MAGIC = b"\x7fELF"
X86_64 = 62
"""e_machine, EM_X86_64."""
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29


class NotSuitable(ValueError):
    """An error for a file that is not a 64-bit little-endian ELF file, or is cut off; `str()` tells which."""


class Elf(msgspec.Struct, frozen=True):
    """The needs of an ELF file. `rpath`, `runpath`: as in the file, split at colons, with `$ORIGIN` not replaced."""

    machine: int
    interpreter: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def read(data: bytes) -> Elf:
    """Return the needs of a program or library. Raises NotSuitable."""
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise NotSuitable("it is an ELF file that is cut off or damaged") from error


def _read(data: bytes) -> Elf:
    _check(data)
    (machine,) = struct.unpack_from("<H", data, 18)
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + index * size) for index in range(count)]
    interpreter, dynamic = None, b""
    for kind, _flags, offset, _vaddr, _paddr, length in segments:
        if kind == PT_INTERP:
            interpreter = data[offset : offset + length].rstrip(b"\0").decode()
        elif kind == PT_DYNAMIC:
            dynamic = data[offset : offset + length]
    entries = list(struct.iter_unpack("<qQ", dynamic[: len(dynamic) // 16 * 16]))
    table = next((_offset(segments, value) for tag, value in entries if tag == DT_STRTAB), 0)

    def texts(kind: int) -> tuple[str, ...]:
        return tuple(_text(data, table + value) for tag, value in entries if tag == kind)

    def directories(kind: int) -> tuple[str, ...]:
        return tuple(path for text in texts(kind) for path in text.split(":") if path)

    return Elf(machine, interpreter, texts(DT_NEEDED), directories(DT_RPATH), directories(DT_RUNPATH))


def notes(data: bytes) -> dict[str, str]:
    """Return the section `.modinfo` of a kernel module: `depends`, `name`, `vermagic`, …. Raises NotSuitable."""
    _check(data)
    try:
        (start,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        sections = [struct.unpack_from("<IIQQQQ", data, start + index * size) for index in range(count)]
        for name, _kind, _flags, _address, offset, length in sections:
            if _text(data, sections[names][4] + name) == ".modinfo":
                lines = data[offset : offset + length].split(b"\0")
                pairs = (line.decode(errors="replace").partition("=") for line in lines if line)
                return {key: value for key, _, value in pairs}
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise NotSuitable("it is an ELF file that is cut off or damaged") from error
    raise NotSuitable("it is not a kernel module: it has no section .modinfo")


def _check(data: bytes) -> None:
    if data[:4] != MAGIC:
        raise NotSuitable("it is not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise NotSuitable("it is a 32-bit or big-endian program")


def _offset(segments: list[tuple[int, ...]], address: int) -> int:
    """Return the offset in the file of a memory address."""
    for kind, _flags, offset, vaddr, _paddr, length in segments:
        if kind == PT_LOAD and vaddr <= address < vaddr + length:
            return offset + address - vaddr
    raise IndexError(address)


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at) if b"\0" in data[at : at + 4096] else at].decode()
