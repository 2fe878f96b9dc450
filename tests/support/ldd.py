"""The libraries of a program as ldd(1) lists them."""

import os
import re
import subprocess


def listed(path):
    """Return the real paths of the libraries of a program."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return {os.path.realpath(library) for library in re.findall(r"(/\S+) \(0x", done.stdout)}
