"""A machine of files for the suites of load: every source has something on it, and its counters can be moved."""

import re
import shutil

from tests.places import ROOT

DATA = ROOT / "tests/data/load"


def recorded(root):
    """Copy the recorded server, whose kernel has no PSI, with the PSI of the desktop."""
    shutil.copytree(DATA / "server-4.18", root)
    shutil.copytree(DATA / "desktop-6.1/proc/pressure", root / "proc/pressure")
    return root


def files(root, source):
    """Return the files of a source (a row of the engine's table); for control groups, all of their files."""
    paths = []
    for pattern in source.files:
        if "GROUP" in pattern:
            paths += [path for path in (root / "sys/fs/cgroup").rglob("*") if path.is_file()]
            continue
        named, _, choices = pattern.removeprefix("/").replace("PID", "self").replace("cpuN", "cpu*").partition("{")
        names = [named] if not choices else [named + choice for choice in choices.rstrip("}").split(",")]
        paths += [path for name in names for path in root.glob(name) if path.is_file()]
    assert paths, f"the recorded machine has nothing of {source.files}"
    return list(dict.fromkeys(paths))


def moved(text, by):
    """Move each counter of a file: the whole numbers of a line behind its name, and PSI's totals."""

    def line(result):
        words = result.split(" ")
        if words[0] == "version":
            return result
        name = next((place for place, word in enumerate(words) if word and not word.isdecimal()), -1)
        bumped = [
            str(int(word) + by) if place > name and word.isdecimal() else word for place, word in enumerate(words)
        ]
        return re.sub(r"total=(\d+)", lambda match: f"total={int(match[1]) + by}", " ".join(bumped))

    return "\n".join(map(line, text.split("\n")))


def advance(root, source, by):
    """Move all counters of a source."""
    for path in files(root, source):
        path.write_text(moved(path.read_text(), by))


BROKEN = (b"", b"\n\n", b"cpu x y\xff\x00 -1 1e9 some total= 99999999999999999999\n", b"\x00" * 5000)
"""Contents of a broken file: nothing that is a number of any source."""
