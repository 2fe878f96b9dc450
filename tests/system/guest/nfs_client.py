"""The work of a guest with an NFS export, as root: `python3 nfs_client.py mount PORT PLACE` or `… work PLACE WRITES …`.

`mount` has the kernel mount the export /mem of the server at 10.0.2.2 and leaves it mounted. `work` writes and reads
so many blocks past the page cache, asks for a file's attributes, which are never kept, and makes and removes files.
"""

import ctypes
import mmap
import os
import sys

BLOCK = 4096


def mount(port, place):
    """Mount by NFS 4.1 over TCP, without caches of attributes."""
    os.makedirs(place, exist_ok=True)
    options = f"addr=10.0.2.2,clientaddr=10.0.2.15,vers=4.1,proto=tcp,port={port},sec=sys,hard,timeo=600,noac"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"10.0.2.2:/mem", place.encode(), b"nfs4", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), place)


def work(place, writes, reads, stats, files):
    """Make this number of operations of each kind."""
    file = os.open(os.path.join(place, "data"), os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    buffer = mmap.mmap(-1, BLOCK)
    for number in range(writes):
        os.pwritev(file, [buffer], number * BLOCK)
    for number in range(reads):
        if os.preadv(file, [buffer], number % writes * BLOCK) != BLOCK:
            raise OSError("a block was not read as a whole")
    for _ in range(stats):
        os.fstat(file)
    os.close(file)
    for number in range(files):
        name = os.path.join(place, f"directory{number}")
        os.mkdir(name)
        os.rmdir(name)


if __name__ == "__main__":
    if sys.argv[1] == "mount":
        mount(int(sys.argv[2]), sys.argv[3])
    else:
        work(sys.argv[2], *map(int, sys.argv[3:]))
