"""The options that all verbs share: the host of a study, its rights there, and its store.

`SessionOptions` is their value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from becalm.errors import UsageError
from becalm.hosts import Host
from becalm.nouns.option import StudyOptions, option, options, parse_keywords, refuse_unknown
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import CommandLine, Workload
from becalm.profiles import Profile
from becalm.report.program_output import OutputListener
from becalm.results.progress import ProgressListener
from becalm.study.settings_profile import find_profile

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords

WHERE = "Host: ssh://NAME, guest:6.1, sim:MODEL, … (docs/reference/hosts.md)."

Values = Mapping[str, str | int | bool] | Settings
"""The types in which callers may pass settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """The options of where and how a study is measured, and the listener.

    - `host`: a name, or an open Host, which is left open
    - `store`: None for the default store, False to store nothing, else a file or URL
    - `root`: a directory that looks like `/`, to use instead of the machine
    - `profile`: settings to apply for the programs, as far as the machine has them
    """

    settings: Settings = option(
        None,
        "Setting for the programs: nice=-5, cpus=1, aslr=off, policy=batch …",
        Values | None,
        flag="--set",
        metavar="NAME=VALUE",
        repeats=True,
        parse=Settings.of,
        kept=Settings(),
    )
    seed: int | None = option(None, "Seed of the random choices, to repeat them.", int | None, metavar="N", least=0)
    title: str = option("", "Title of the study.", str)
    host: str | Host = option("local", WHERE, str | Host)
    user: str | None = option(None, "Run the programs as this user (root only).", str | None)
    sudo: bool = option(False, "Change settings of the machine through sudo; everything else runs as you.", bool)
    root: str | None = option(
        None, "Use a directory that looks like / instead of this machine.", str | None, metavar="DIR"
    )
    dangerous: bool = option(False, "Allow settings that can make the machine slow, hot or hard to reach.", bool)
    allow_reboot: bool = option(False, "Allow restarts of another machine, for boot settings.", bool)
    store: str | bool | None = option(
        None,
        "Store of all studies.",
        str | bool | None,
        metavar="FILE|URL",
        shown="BECALM_STORE, else your own",
        off="--no-store",
        off_help="Store nothing.",
    )
    load: bool = option(
        True,
        "Record what else the machine did.",
        bool,
        flag="",
        off="--no-load",
        off_help="Do not record what else the machine did.",
    )
    by: str | None = option(
        None,
        "As root, count waits and network traffic by process in the kernel.",
        str | None,
        metavar="bpf",
        shown="an estimate",
        choices=("bpf",),
    )
    listener: ProgressListener = option(
        None, "Receives the progress.", ProgressListener | None, flag="", kept=OutputListener()
    )
    profile: Profile | None = None
    remark_kinds: set[str] = field(default_factory=set, compare=False)
    """The kinds of remarks that were reported already; copies of these options share it across sessions."""

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """Return the value for keyword arguments; None stands for the default. Raises UsageError."""
        result = cls(**parse_keywords(cls, keywords))
        if (profile := keywords.get("profile")) is not None:
            result = replace(
                result, profile=find_profile(profile, store=result.place) if isinstance(profile, str) else profile
            )
        if result.by is not None and not result.load:
            raise UsageError("--by counts whom programs wait for, which --no-load leaves out. Leave one of both out.")
        if result.user is not None and result.sudo:
            raise UsageError("--user and --sudo contradict each other: with --sudo the programs run as you.")
        if not isinstance(result.host, str) and (result.user or result.sudo or result.root or result.allow_reboot):
            raise UsageError(
                "A host that is open already has its user and its rights: give user, sudo, root and allow_reboot to "
                "becalm.hosts.open, as Access."
            )
        return result

    @property
    def place(self) -> str | None:
        """The store's file or URL; None for the default store, and if nothing is stored."""
        return self.store if isinstance(self.store, str) else None

    @property
    def host_name(self) -> str:
        """The name of the host."""
        return self.host if isinstance(self.host, str) else self.host.name

    def on(self, host: str | Host, listener: ProgressListener) -> Self:
        """Return the same options for one host of several."""
        return replace(self, host=host, listener=listener, remark_kinds=set())

    def study(
        self, kind: str, workloads: Sequence[Workload], options: StudyOptions, settings: Sequence[Settings] = ()
    ) -> Study:
        """Return a study with these options. Without a seed one is drawn and stored with the study."""
        return Study(
            kind=kind,
            workloads=tuple(workloads),
            settings=tuple(settings) or (self.settings,),
            options=options.to_json(),
            seed=int.from_bytes(os.urandom(4), "big") if self.seed is None else self.seed,
            host=self.host_name,
            title=self.title,
        )


@dataclass(frozen=True, slots=True)
class WithProfile:
    """The option that names a profile of settings for the measured programs."""

    profile: str | None = option(
        None,
        "Apply a profile: number of a tune study, name or file; --set overrides it.",
        str | Profile | None,
        metavar="N|NAME|FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralHosts:
    """The options that name several hosts: each is measured by itself, then there is a joint verdict."""

    hosts: tuple[str | Host, ...] = option(
        None,
        "Host (repeatable): ssh://NAME, guest:6.1, … (docs/reference/hosts.md).",
        Sequence[str | Host] | None,
        flag="--host",
        shown="local",
        repeats=True,
        parse=tuple,
        kept=(),
    )
    cluster: str | None = option(
        None,
        "Dask cluster to measure on: slurm:nodes=4, local:2, ssh:FILE … (docs/how-to/cluster.md)",
        str | None,
        metavar="SPEC",
    )


Chosen = TypeVar("Chosen", bound=StudyOptions)


def split_keywords(
    kind: type[Chosen], keywords: Mapping[str, Any], *also: type[Any]
) -> tuple[Chosen, SessionOptions, ProgramKeywords]:
    """Return keyword arguments by owner: the options of a kind of study, of its session, and of its programs.

    `also`: further classes of options, which the caller reads itself. Raises UsageError; for an unknown name it
    suggests the nearest one.
    """
    refuse_unknown(keywords, kind, SessionOptions, CommandLine, Workload, *also)
    own = {*options(CommandLine), *options(Workload)} - {
        *options(kind),
        *(name for owner in also for name in options(owner)),
    }
    program = {name: value for name, value in keywords.items() if name in own}
    return kind.of(keywords), SessionOptions.of(keywords), cast("ProgramKeywords", program)
