"""A directory that looks like `/` with processes, which may come, go, and be bound."""

from pathlib import Path


class Processes:
    """Processes of a machine with CPUs 0 to 3."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc").mkdir()
        online = root / "sys/devices/system/cpu"
        online.mkdir(parents=True)
        (online / "online").write_text("0-3\n")

    def online(self, text):
        (self.root / "sys/devices/system/cpu/online").write_text(text)

    def starts(self, pid, name, *words, allowed="0-3", start=None, state="S", parent=1):
        """Add a process, with a blank and a bracket in its name, as there may be."""
        at = self.root / "proc" / str(pid)
        at.mkdir(exist_ok=True)
        fields = [state, str(parent), *["0"] * 17, str(start or 1000 + pid), "0"]
        (at / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
        (at / "comm").write_text(f"{name}\n")
        (at / "cmdline").write_bytes(b"\0".join(word.encode() for word in words or (name,)) + b"\0")
        self.allows(pid, allowed)

    def allows(self, pid, cpus):
        (self.root / "proc" / str(pid) / "status").write_text(f"Name:\tx\nCpus_allowed_list:\t{cpus}\n")

    def ends(self, pid):
        at = self.root / "proc" / str(pid)
        for path in at.iterdir():
            path.unlink()
        at.rmdir()
