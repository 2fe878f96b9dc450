"""Small ELF files, a kernel image and packages, made byte by byte."""

import io
import lzma
import struct
import tarfile


def program(needed=(), *, interpreter=None, runpath="", rpath="", machine=62, bits=2):
    """Return a 64-bit ELF file that is only its headers and its dynamic section."""
    strings, offsets = b"\0", {}
    for text in (*needed, runpath, rpath):
        offsets[text] = len(strings)
        strings += text.encode() + b"\0"
    entries = [(1, offsets[name]) for name in needed]
    entries += [(29, offsets[runpath])] if runpath else []
    entries += [(15, offsets[rpath])] if rpath else []
    interp = (interpreter or "").encode() + b"\0"
    count = 3 if interpreter else 2
    start = 64 + 56 * count
    table = start + len(interp)
    dynamic_at = -(-(table + len(strings)) // 8) * 8
    # Memory lies elsewhere than the file, as in real programs.
    base = 0x400000
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in [*entries, (5, base + table), (0, 0)])
    total = dynamic_at + len(dynamic)
    segments = [(1, 5, 0, base, base, total, total, 0x1000)]
    segments.append((2, 6, dynamic_at, base + dynamic_at, base + dynamic_at, len(dynamic), len(dynamic), 8))
    if interpreter:
        segments.append((3, 4, start, base + start, base + start, len(interp), len(interp), 1))
    head = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, base, 64, 0, 0, 64, 56, count, 64, 0, 0)
    body = head + b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments) + interp + strings
    return body.ljust(dynamic_at, b"\0") + dynamic


def module(name, depends=""):
    """Return a kernel module with only the section .modinfo."""
    notes = f"name={name}\0depends={depends}\0vermagic=6.1.0 SMP\0".encode()
    names = b"\0.modinfo\0.shstrtab\0"
    at = 64 + len(notes)
    where = -(-(at + len(names)) // 8) * 8
    sections = [(0,) * 10, (1, 1, 2, 0, 64, len(notes), 0, 0, 1, 0), (10, 3, 0, 0, at, len(names), 0, 0, 1, 0)]
    head = (
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, where, 0, 64, 0, 0, 64, 3, 2)
    )
    table = b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)
    return (head + notes + names).ljust(where, b"\0") + table


def vmlinuz(release="6.1.0-9-cloud-amd64", *, loading=3):
    """Return the header of a bzImage (Documentation/arch/x86/boot.rst)."""
    image = bytearray(0x1000)
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x20E, 0x600)
    struct.pack_into("<H", image, 0x236, loading)
    text = f"{release} (someone@somewhere) #1 SMP".encode()
    image[0x800 : 0x800 + len(text)] = text
    return bytes(image)


def package(files):
    """Return a Debian package (deb(5)) with these files: name to contents."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(b"odd"),
        "data.tar.xz": lzma.compress(inner.getvalue()),
    }
    out = b"!<arch>\n"
    for name, data in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out
