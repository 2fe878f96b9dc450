"""`becalm import --project`: results of other tools as sessions of a project's history."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from becalm.errors import BecalmError, UsageError
from becalm.nouns.options.record import RecordOptions
from becalm.report.document import Document
from becalm.report.formats.origin import Dates
from becalm.report.revision import LONGEST, Revision
from becalm.study.repository import Repository


class HistoryPlace(msgspec.Struct, frozen=True):
    """The place of imported results in a history, as far as the user names it; the rest comes from the files.

    - `project`: the project's name.
    - `commit`: the measured commit, by any name that git knows in the repository, or verbatim.
    - `date`, `branch`: the date and the branch of the commit.
    - `machine`: the name of comparable machines.
    - `repository`: the git repository with the commit [default: the working directory's repository].
    """

    project: str | None = None
    commit: str | None = None
    date: str | None = None
    branch: str | None = None
    machine: str | None = None
    repository: str | None = None


def in_history(documents: Sequence[Document], place: HistoryPlace, path: str | Path) -> list[Document]:
    """Return the studies of a file as sessions of a project.

    Without a project, results of other tools remain studies, and sessions get the project's name from their file, or
    from the repository or the file's name. Raises UsageError for studies that belong to no history, and for results
    whose commit neither the file nor `place` names.
    """
    own = [document for document in documents if document.study.kind not in ("import", "record")]
    if place == HistoryPlace():
        return [
            _named(document, place, path) if document.study.kind == "record" else document for document in documents
        ]
    if own:
        raise UsageError(
            f"{path} holds a study of becalm's own ({own[0].study.kind}), which belongs to no history. "
            "Leave --project and what goes with it out."
        )
    return [
        _named(document, place, path) if document.study.kind == "record" else _session(document, place, path)
        for document in documents
    ]


def _named(document: Document, place: HistoryPlace, path: str | Path) -> Document:
    """Return a session in the requested project; its file names the commit. Raises UsageError."""
    if place.commit is not None or place.date is not None:
        raise UsageError(f"{path} tells the commits itself. Leave --commit and --date out.")
    options = dict(document.study.options)
    options["project"] = place.project or options.get("project") or _project(place, path)
    if place.branch is not None:
        options["branch"] = options.get("branch") or place.branch
    if place.machine is not None:
        options["machine"] = options.get("machine") or place.machine
    return replace(document, study=replace(document.study, options=options))


def _project(place: HistoryPlace, path: str | Path) -> str:
    here = _repository(place)
    return here.top.name if here is not None else Path(path).name.partition(".")[0] or "history"


def _repository(place: HistoryPlace) -> Repository | None:
    if place.repository is not None:
        return Repository.of(place.repository)
    with contextlib.suppress(BecalmError):
        return Repository.of(Path.cwd())
    return None


def _session(document: Document, place: HistoryPlace, path: str | Path) -> Document:
    """Return results of another tool as a session. Raises UsageError where nothing names the commit."""
    code = document.revision
    name = place.commit or code.commit
    if not name:
        raise UsageError(
            f"{path} does not tell which commit it has measured. Name it: --commit REV, "
            "and --date DATE where no repository knows it."
        )
    if len(name) > LONGEST:
        raise UsageError(f"{name:.40}… is not a commit: it has {len(name)} characters.")
    commit, ordinal, subject = _known(name, place)
    date = _date(place.date)
    options = RecordOptions(
        project=place.project or _project(place, path),
        commit=commit.commit,
        commit_ns=date or commit.commit_ns or (code.commit_ns if name == code.commit else None),
        ordinal=ordinal,
        subject=subject,
        branch=place.branch or code.branch,
        machine=place.machine or "",
        changed=code.changed and name == code.commit,
        source=str(document.study.options.get("source") or ""),
    )
    study = replace(document.study, kind="record", options=options.to_json())
    return replace(document, study=study)


def _known(name: str, place: HistoryPlace) -> tuple[Revision, int | None, str]:
    """Return a commit with its number and subject from the repository. Raises UsageError for one it does not have."""
    here = _repository(place)
    if here is not None:
        try:
            commit = here.commit(name)
        except UsageError:
            if place.repository is not None:
                raise
        else:
            return Revision(commit.name, commit.when_ns), commit.ordinal, commit.subject
    return Revision(name), None, ""


def _date(text: str | None) -> int | None:
    """Return a date in ns since the epoch; None without one. Raises UsageError."""
    if text is None:
        return None
    if ns := Dates().ns(text):
        return ns
    raise UsageError(f"{text!r:.80} is not a date. Write it like 2026-11-28 or 2026-11-28T09:30:00+01:00.")
