"""The candidates for completion of words in a shell: one function for each kind of word, which takes its beginning.

`of` returns the function of an option or argument. Candidates come from tables, the catalogue, the store or git; numpy
is loaded only where a store is read, and by `tune`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import becalm

KERNEL = "kernel"
"""The kind of program whose names are candidates."""

SCHEDULERS = {"sim:cfs": "a simulated scheduler", "sim:eevdf": "a simulated scheduler"}
"""Hosts of `simulate`."""

HOSTS = {
    "local": "this machine",
    "ssh://": "another machine",
    "guest:": "a virtual machine with another kernel",
    **SCHEDULERS,
}
"""Beginnings of the names of hosts."""

MACHINES = Path(__file__).parents[1] / "hosts/simulated/machines"
"""The directory of simulated machines, one file each."""

NEWEST = 50
"""The number of studies to offer."""

SESSIONS = 200
"""The number of sessions to search for names."""

Items = list[CompletionItem]


def _matching(candidates: Iterable[tuple[str, str | None]], incomplete: str) -> Items:
    return [CompletionItem(name, help=help) for name, help in candidates if name.startswith(incomplete)]


def files(incomplete: str) -> Items:
    """Return files, which the shell lists."""
    return [CompletionItem(incomplete, type="file")]


def directories(incomplete: str) -> Items:
    """Return directories, which the shell lists."""
    return [CompletionItem(incomplete, type="dir")]


def knobs(incomplete: str) -> Items:
    """Return names of knobs, with their rationales."""
    return _matching(((row.name, row.rationale) for row in becalm.catalogue()), incomplete)


def settings(incomplete: str) -> Items:
    """Return NAME= of knobs; after the =, named values of that knob and the one that `tune` tries."""
    name, equals, value = incomplete.partition("=")
    if not equals:
        return _matching(((f"{row.name}=", row.rationale) for row in becalm.catalogue()), name)
    row = {knob.name: knob for knob in becalm.catalogue()}.get(name)
    if row is None:
        return []
    meanings = {special.value: special.meaning for special in row.domain.special}
    values = dict.fromkeys([*row.domain.categories, *([row.tuned_value] if row.tuned_value else [])])
    return _matching(((f"{name}={choice}", meanings.get(choice)) for choice in values), f"{name}={value}")


def programs(incomplete: str) -> Items:
    """Return files and, once a letter was typed, built-in kernels with descriptions."""
    kernels = [(f"{KERNEL}:{row.name}", row.what) for row in becalm.built_in_kernels()] if incomplete else []
    return [*files(incomplete), *_matching(kernels, incomplete)]


def programs_or_studies(incomplete: str) -> Items:
    """Return programs for `compare`, or studies with --stored."""
    return studies_and_files(incomplete) if _typed("stored") else programs(incomplete)


def methods(incomplete: str) -> Items:
    """Return the methods of `tune`, with descriptions."""
    return _matching(((row.name, row.what) for row in becalm.search_methods()), incomplete)


def hosts(incomplete: str) -> Items:
    """Return named hosts and beginnings of other kinds; after `sim`, simulated machines."""
    candidates = [*((host.name, host.url) for host in becalm.list_hosts()), *HOSTS.items()]
    if incomplete.startswith("sim"):
        candidates += [(f"sim:{path.stem}", "a simulated machine") for path in sorted(MACHINES.glob("*.toml"))]
    return _matching(candidates, incomplete)


def schedulers(incomplete: str) -> Items:
    """Return hosts of `simulate`."""
    return _matching(SCHEDULERS.items(), incomplete)


def simulated(incomplete: str) -> Items:
    """Return files and programs of a simulated scheduler for the first word; nothing for later words."""
    return [] if _typed("command") else [*files(incomplete), *_matching(SIMULATED.items(), incomplete)]


def known_hosts(incomplete: str) -> Items:
    """Return the names of hosts."""
    return _matching(((host.name, host.url) for host in becalm.list_hosts()), incomplete)


def studies(incomplete: str) -> Items:
    """Return the numbers of the newest studies, with descriptions, and `last`."""
    candidates = [
        (str(number), f"{study.kind}: {study.title or names(study)}") for number, study in _stored(NEWEST, None)
    ]
    return _matching([("last", "the newest"), *candidates] if candidates else [], incomplete)


def studies_and_files(incomplete: str) -> Items:
    """Return files and numbers of studies."""
    return [*files(incomplete), *studies(incomplete)]


def profiles(incomplete: str) -> Items:
    """Return files, names of profiles, and numbers of searches."""
    profiles = becalm.known_profiles().items()
    named = ((name, "comes with becalm" if shipped else "your own") for name, shipped in profiles)
    candidates = ((str(number), names(study)) for number, study in _stored(NEWEST, "tune"))
    return [*files(incomplete), *_matching([*named, *candidates], incomplete)]


def names(study: becalm.Study) -> str:
    """Return the names of the programs of a study, as one text."""
    return " | ".join(workload.name for workload in study.workloads)


def _stored(limit: int, kind: str | None) -> Iterator[tuple[int, becalm.Study]]:
    """Yield the newest studies of the chosen store with their numbers; nothing if it cannot be read."""
    try:
        studies = becalm.list_studies(_typed("store"), limit=limit, kind=kind, as_is=True).studies
    except becalm.BecalmError:
        return
    yield from ((row.number, row.study) for row in studies)


def _typed(name: str) -> Any:
    """Return the value typed before for an option or argument, or None."""
    context = click.get_current_context(silent=True)
    return context.params.get(name) if context is not None else None


def _sessions(of: Callable[[becalm.Study], Iterable[str]]) -> Items:
    """Return words of the sessions of the typed project, or of all projects, newest first, without repeats."""
    project = _typed("project")
    words = {
        name: None
        for _, study in _stored(SESSIONS, "record")
        if project in (None, study.options.get("project"))
        for name in of(study)
        if name
    }
    return [CompletionItem(name) for name in words]


def _option(name: str) -> Callable[[str], Items]:
    def offered(incomplete: str) -> Items:
        items = _sessions(lambda study: [str(study.options.get(name) or "")])
        return [item for item in items if str(item.value).startswith(incomplete)]

    offered.__doc__ = f"Return the values of {name} in stored sessions."
    return offered


projects, branches, baselines, machines = map(_option, ("project", "branch", "baseline", "machine"))


def tags(incomplete: str) -> Items:
    """Return the tags of sessions."""
    items = _sessions(lambda study: map(str, study.options.get("tags") or ()))
    return [item for item in items if str(item.value).startswith(incomplete)]


def renamed(incomplete: str) -> Items:
    """Return OLD=NEW pairs of names of benchmarks."""
    old, equals, _ = incomplete.partition("=")
    names = [str(item.value) for item in _sessions(lambda study: [program.name for program in study.workloads])]
    renames = [f"{old}={name}" if equals else f"{name}=" for name in names if name != old]
    return [CompletionItem(rename) for rename in renames if rename.startswith(incomplete)]


GIT_S = 2.0
"""The time that git gets to list references while a person waits, s."""


def revisions(incomplete: str) -> Items:
    """Return tags and branches of the git repository of the working directory."""
    command = ["git", "for-each-ref", "--sort=-creatordate", "--format=%(refname:short)", "refs/tags", "refs/heads"]
    try:
        references = subprocess.run(
            command, capture_output=True, text=True, timeout=GIT_S, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return _matching(((reference, None) for reference in ("HEAD", *references)), incomplete)


SIMULATED = {
    "hackbench": "groups of tasks that pass messages",
    "spin": "a task that computes",
    "pipeline:": "items that go from stage to stage, a task each",
    "requests:": "clients that think, ask, and wait for the answer of one of the servers",
    "spinners:": "tasks that compute and do nothing else",
    "phases:": "tasks that compute and sleep in turn",
}
"""Programs of a simulated scheduler."""

_METAVARS: dict[str, Callable[[str], Items]] = {
    "KNOB": knobs,
    "HOST": hosts,
    "PROFILE": profiles,
    "REV": revisions,
    "FILE|ID": studies_and_files,
    "N|NAME|FILE": studies_and_files,
    "STUDY": studies,
    "NUMBER|last": studies,
    "TIME|STUDY": studies,
    "FILE": files,
    "FILE…": files,
    "FILE.toml": files,
    "FILE.json": files,
    "FILE|URL": files,
    "NAME|FILE": files,
    "TIME|FILE": files,
    "FILE|:PORT": files,
    "PATH": files,
    "DIR": directories,
    "FOLDER": directories,
}
"""The candidates for options, by their placeholder in the help up to the first [."""

_FLAGS: dict[str, Callable[[str], Items]] = {
    "--host": hosts,
    "--set": settings,
    "--project": projects,
    "--branch": branches,
    "--baseline": baselines,
    "--machine": machines,
    "--tag": tags,
    "--rename": renamed,
}
"""The candidates for options by flag, before those by placeholder."""

_WORDS = {
    "--flush": ("L1", "L2", "L3", "memory", "evicted"),
    "--rules": ("rise", "published", "adaptive", "cusum"),
    "--by": ("perf", "bpf"),
    "--events": ("llc", "faults", "ws_turnover"),
    "--llc": ("same", "other"),
    "--timer": (
        *("barrier", "fenced", "bare", "clock_gettime", "clock_gettime call", "Instant", "cycles"),
        *("PAPI_get_real_nsec", "PAPI_get_real_cyc", "PAPI_read"),
    ),
    "--export": ("taskset", "systemd", "kubernetes"),
}
"""The candidates for options that take one of a few words."""

PLACEMENTS = ("optimal", "swap", "costs", "mlp", "svm", "di", "di-lp", "linux", "random")
"""Methods of `place`. Their table imports scipy, which is too slow for completion."""

PUBLISHED = ("gcc", "lbm", "mcf", "milc", "povray", "gamess", "namd", "gobmk", "libquantum")
"""Tasks of `place simulate` without --programs."""


def _words(choices: Iterable[str]) -> Callable[[str], Items]:
    def offered(incomplete: str) -> Items:
        return _matching(((choice, None) for choice in choices), incomplete)

    return offered


def tasks(incomplete: str) -> Items:
    """Return tasks of `place simulate`."""
    return [] if _typed("programs") else _words(PUBLISHED)(incomplete)


_ARGUMENTS: dict[str, Callable[[str], Items]] = {
    "study": studies,
    "studies": studies,
    "profiles": profiles,
    "project": projects,
    "good": revisions,
    "bad": revisions,
    "command": programs,
    "commands": programs,
    "programs": programs,
    "words": programs,
    "file": files,
    "files": files,
    "copy": files,
    "directory": directories,
    "new": files,
}
"""The candidates for arguments, by their name in the code."""

_OF_VERBS: dict[tuple[str, str], Callable[[str], Items]] = {
    ("knobs", "name"): knobs,
    ("remove", "name"): known_hosts,
    ("check", "name"): known_hosts,
    ("tune", "method"): methods,
    ("compare", "commands"): programs_or_studies,
    ("place", "reference"): studies_and_files,
    ("show", "studies"): studies_and_files,
    ("place", "method"): _words(PLACEMENTS),
    ("simulate", "methods"): _words(PLACEMENTS),
    ("simulate", "tasks"): tasks,
    ("simulate", "host"): schedulers,
    ("simulate", "command"): simulated,
}
"""The candidates for parameters of one verb."""


def of(verb: str | None, parameter: click.Parameter) -> Callable[[str], Items] | None:
    """Return the candidates for an option or argument of a verb; None without any."""
    name = str(parameter.name)
    if (verb, name) in _OF_VERBS:
        return _OF_VERBS[str(verb), name]
    if isinstance(parameter, click.Argument):
        return _ARGUMENTS.get(name)
    for flag in parameter.opts:
        if flag in _FLAGS:
            return _FLAGS[flag]
        if flag in _WORDS:
            return _words(_WORDS[flag])
    return _METAVARS.get((parameter.metavar or "").partition("[")[0])
