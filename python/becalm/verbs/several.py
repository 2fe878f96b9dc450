"""The former names of `run`, `compare` and `tune` on several hosts, before these took `hosts`: for one version more."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Unpack

from becalm.hosts import Host
from becalm.nouns.workload import Workload
from becalm.results.multi_host import MultiHostVerdict
from becalm.study.session_options import MeasureKeywords
from becalm.verbs.compare import CompareKeywords, compare
from becalm.verbs.run import run
from becalm.verbs.tune import TuneKeywords, tune

Programs = Sequence[str | Iterable[str] | Workload]


def _warn(old: str, new: str) -> None:
    warnings.warn(f"becalm.{old} goes: call becalm.{new}(…, hosts=[…]).", DeprecationWarning, stacklevel=3)


def run_on(
    hosts: Sequence[str | Host],
    command: str | Iterable[str] | Workload,
    *,
    cluster: str | None = None,
    **options: Unpack[MeasureKeywords],
) -> MultiHostVerdict:
    """Call `becalm.run` with `hosts` (deprecated)."""
    _warn("run_on", "run")
    return run(command, hosts=hosts, cluster=cluster, **options)


def compare_on(
    hosts: Sequence[str | Host],
    commands: Programs,
    *,
    cluster: str | None = None,
    **options: Unpack[CompareKeywords],
) -> MultiHostVerdict:
    """Call `becalm.compare` with `hosts` (deprecated)."""
    _warn("compare_on", "compare")
    return compare(commands, hosts=hosts, cluster=cluster, **options)


def tune_on(
    hosts: Sequence[str | Host],
    programs: Programs,
    *,
    cluster: str | None = None,
    **options: Unpack[TuneKeywords],
) -> MultiHostVerdict:
    """Call `becalm.tune` with `hosts` (deprecated)."""
    _warn("tune_on", "tune")
    return tune(programs, hosts=hosts, cluster=cluster, **options)
