"""The result of `publish`: a directory of pages about the studies of a store, and the list on its first page."""

from __future__ import annotations

import msgspec

from becalm.nouns.result import Result


class PublishedStudy(msgspec.Struct, frozen=True):
    """A study as the list of a site shows it.

    - `state`, `result`: as in `becalm list`; `result` is the reason where the study has no page of results
    - `commit`: empty for a study that belongs to no project
    - `commands`: the command lines, for the search
    - `report`: whether the site has its full report, with all pictures
    - `stamp`: text that changes with the study in the store
    """

    OMITTED = ("stamp",)

    number: int
    kind: str
    title: str
    created_ns: int
    machine: str
    runs: int
    state: str
    result: str
    project: str = ""
    commit: str = ""
    tags: tuple[str, ...] = ()
    commands: str = ""
    report: bool = False
    stamp: str = ""


class Published(Result, frozen=True):
    """A site that was written.

    - `index`: its first page
    - `drawn`: the numbers of the studies whose pages are new or changed
    - `removed`: the numbers of those that are no longer in the store
    - `left_out`: a sentence for each study that cannot be read
    """

    KIND = "publish"

    directory: str
    index: str
    store: str
    studies: tuple[PublishedStudy, ...]
    drawn: tuple[int, ...]
    removed: tuple[int, ...]
    projects: tuple[str, ...]
    left_out: tuple[str, ...]
    size: int
    measuring: tuple[int, ...] = ()
    sentence: str = ""
