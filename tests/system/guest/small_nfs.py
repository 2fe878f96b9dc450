"""A small NFS server of version 3 (RFC 1813) that counts what it is asked, and the client that this kernel is.

A program of its own, run in a guest as root: `python3 small_nfs.py PLACE READS STATS`. It serves one directory with
one file over TCP on the loopback interface, has the kernel mount it, reads READS blocks past the page cache and asks
STATS times for the file's attributes, which are never kept. It prints as JSON how often the kernel called each
procedure, and leaves the file system mounted.
"""

import collections
import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import threading

NFS, MOUNT, NFS_ACL = 100003, 100005, 100227
PROCEDURES = {
    0: "NULL", 1: "GETATTR", 3: "LOOKUP", 4: "ACCESS", 6: "READ", 16: "READDIR", 17: "READDIRPLUS", 18: "FSSTAT",
    19: "FSINFO", 20: "PATHCONF",
}  # fmt: skip
BLOCK, BLOCKS = 4096, 64
FILES = {b"root": (2, 0o755, 1, 4096), b"data": (1, 0o644, 2, BLOCK * BLOCKS)}
"""The files by handle: type, mode, number, size."""

NO_ENTRY, NOT_SUPPORTED = 2, 10004
MS_RDONLY = 1


def opaque(data):
    """Return variable-length data of XDR (RFC 4506)."""
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def taken(data, at):
    """Take variable-length data at a place; return it and the place behind it."""
    (length,) = struct.unpack_from(">I", data, at)
    return data[at + 4 : at + 4 + length], at + 4 + (length + 3) // 4 * 4


def attributes(handle):
    """Return fattr3."""
    kind, mode, number, size = FILES[handle]
    return struct.pack(">5I2Q2I2Q6I", kind, mode, 1, 0, 0, size, size, 0, 0, 1, number, *(0,) * 6)


def after(handle):
    """Return post_op_attr with attributes."""
    return struct.pack(">I", 1) + attributes(handle)


def nfs(procedure, arguments):
    """Return the result of a call."""
    name = PROCEDURES.get(procedure)
    if name == "NULL":
        return b""
    handle, at = taken(arguments, 0)
    good = struct.pack(">I", 0)
    if name == "GETATTR":
        return good + attributes(handle)
    if name == "LOOKUP":
        wanted, _ = taken(arguments, at)
        if wanted not in FILES:
            return struct.pack(">I", NO_ENTRY) + after(handle)
        return good + opaque(wanted) + after(wanted) + after(handle)
    if name == "ACCESS":
        (bits,) = struct.unpack_from(">I", arguments, at)
        return good + after(handle) + struct.pack(">I", bits)
    if name == "READ":
        offset, count = struct.unpack_from(">QI", arguments, at)
        data = bytes(max(0, min(count, BLOCK * BLOCKS - offset)))
        return good + after(handle) + struct.pack(">2I", len(data), offset + len(data) >= BLOCK * BLOCKS) + opaque(data)
    if name == "FSSTAT":
        return good + after(handle) + struct.pack(">6QI", *(1 << 20,) * 6, 0)
    if name == "FSINFO":
        return good + after(handle) + struct.pack(">7IQ3I", *(BLOCK, BLOCK, BLOCK) * 2, BLOCK, 1 << 40, 0, 1, 0x18)
    if name == "PATHCONF":
        return good + after(handle) + struct.pack(">6I", 1, 255, 1, 1, 0, 1)
    return struct.pack(">I", NOT_SUPPORTED) + struct.pack(">I", 0)


def mount(procedure, arguments):
    """Return the result of a call of the mount protocol: everything that is asked for is the one directory."""
    granted = struct.pack(">I", 0) + opaque(b"root") + struct.pack(">2I", 1, 1)
    return granted if procedure == 1 else b""


def serve(connection, counts):
    """Answer calls of one connection (RFC 5531, record marking of section 11) until it is closed."""
    stream = connection.makefile("rb")
    while mark := stream.read(4):
        record = stream.read(struct.unpack(">I", mark)[0] & 0x7FFFFFFF)
        ident, _, _, program, _, procedure = struct.unpack_from(">6I", record)
        _, at = taken(record, 28)
        _, at = taken(record, at + 4)
        if program == NFS:
            counts[PROCEDURES.get(procedure, str(procedure))] += 1
        elif program == NFS_ACL:
            # The client asks whether there are access control lists; it counts this with its other calls.
            counts["ACL"] += 1
        result = (nfs if program == NFS else mount)(procedure, record[at:])
        reply = struct.pack(">6I", ident, 1, 0, 0, 0, 0) + result
        connection.sendall(struct.pack(">I", 0x80000000 | len(reply)) + reply)


def accept(listener, counts):
    """Serve whoever comes, a thread each."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, counts), daemon=True).start()


def main(place, reads, stats):
    """Serve, mount, work, and tell."""
    counts = collections.Counter()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    threading.Thread(target=accept, args=(listener, counts), daemon=True).start()
    os.makedirs(place, exist_ok=True)
    options = (
        f"addr=127.0.0.1,mountaddr=127.0.0.1,vers=3,proto=tcp,mountproto=tcp,port={port},mountport={port},nolock,soft,"
        f"timeo=600,retrans=2,noac,rsize={BLOCK}"
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"127.0.0.1:/", place.encode(), b"nfs", MS_RDONLY, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), place)
    path = os.path.join(place, "data")
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, BLOCK)
    for number in range(reads):
        os.preadv(file, [buffer], number * BLOCK)
    for _ in range(stats):
        os.fstat(file)
    os.close(file)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
