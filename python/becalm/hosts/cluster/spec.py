"""The values of --cluster: `local:2`, `ssh:FILE`, `slurm:nodes=4,partition=batch`, `tcp://HOST:PORT`.

Values of Slurm's options end up in a script that a shell reads, so they are words of a few harmless characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.units import duration_ns

FORMS = "local:N, ssh:FILE, slurm[:nodes=N,partition=…], tcp://HOST:PORT or tls://HOST:PORT"

RESOURCE = "machine"
"""The resource of which each worker has one and each measurement takes one, so that a worker measures one at a time."""

SLURM = {
    "nodes": "how many nodes; 1 when not given",
    "partition": "sbatch --partition",
    "account": "sbatch --account",
    "walltime": "sbatch --time, as 2:00:00; an hour when not given",
    "nodelist": "sbatch --nodelist",
    "constraint": "sbatch --constraint",
    "reservation": "sbatch --reservation",
    "qos": "sbatch --qos",
    "wait": "how long to wait for nodes, as 10min; 10 min when not given",
}

_WORD = re.compile(r"[A-Za-z0-9_.:@&|+\[\]-]+")
_MOST = 100_000


class Spec(msgspec.Struct, frozen=True):
    """A cluster.

    - `kind`: local, ssh, slurm or address.
    - `place`: its file or address.
    - `wait_s`: the time in which workers must come, s.
    - `options`: the options of SLURM except nodes and wait.
    """

    kind: str
    workers: int = 1
    place: str = ""
    wait_s: float = 60.0
    options: Mapping[str, str] = msgspec.field(default_factory=dict)


def parse(text: str) -> Spec:
    """Return the cluster that a value of --cluster describes. Raises UsageError."""
    kind, colon, rest = text.partition(":")
    if kind in ("tcp", "tls") and rest.startswith("//") and len(rest) > 2:
        return Spec("address", 0, text)
    if kind == "local":
        return Spec("local", _count("local", rest or "1"))
    if kind == "ssh" and rest:
        return Spec("ssh", 0, rest)
    if kind == "slurm":
        return _slurm(rest) if colon else Spec("slurm", 1, wait_s=600.0)
    raise UsageError(f"--cluster {text!r} is not one of {FORMS}. See docs/how-to/cluster.md.")


def _slurm(rest: str) -> Spec:
    options: dict[str, str] = {}
    # A list of nodes may contain commas within brackets: node[1,3].
    for part in re.split(r",(?![^\[]*\])", rest):
        name, equals, value = part.partition("=")
        if name not in SLURM:
            raise UsageError(f"--cluster slurm has no option {name!r}; it has {', '.join(SLURM)}.")
        if not equals or not _WORD.fullmatch(value.replace(",", "")):
            raise UsageError(f"--cluster slurm:{part} is not of the form {name}=VALUE with a plain word as value.")
        options[name] = value
    nodes = _count("slurm:nodes=", options.pop("nodes", "1"))
    return Spec("slurm", nodes, wait_s=duration_ns(options.pop("wait", "10min")) / 1e9, options=options)


def _count(form: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= _MOST:
        raise UsageError(f"--cluster {form} takes a number of machines, not {text!r}.")
    return int(text)


def hosts_of(path: str) -> list[str]:
    """Return the machines in a file, one per line; empty lines and text after # are ignored. Raises UsageError."""
    text = read_text(path, f"The file of hosts {path}")
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    result = [line for line in lines if line]
    if not result:
        raise UsageError(f"The file {path} names no host. Write one a line: ada@bench.example:22.")
    return result
