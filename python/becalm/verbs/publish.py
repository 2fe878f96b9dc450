"""`becalm publish`: a site of the studies of a store, as files that need no server. Prints nothing.

A page is written again only when its study has changed, by the stamps of the store; the directory records the stamps.
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from becalm.errors import BecalmError, StoreError
from becalm.nouns.study import StoredStudy
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats import table_csv
from becalm.report.forms import as_html
from becalm.report.history.page import page as timeline_page
from becalm.report.site import pages
from becalm.report.site.directory import BENCHMARKS, INDEX, SiteDirectory, project_file, study_files
from becalm.results.compare import Verdict
from becalm.results.history import Timeline
from becalm.results.publish import Published, PublishedStudy
from becalm.store import Store, in_use, recover
from becalm.study.circumstances import circumstances
from becalm.study.stored import Warned, document_of
from becalm.verbs.history import history
from becalm.verbs.listing import outcome_of
from becalm.verbs.records import conclude
from becalm.wording import history as history_words
from becalm.wording import publish as words
from becalm.wording.printable import one_line

REPORTS = 20
"""The number of newest studies that get a full report with all pictures; each takes as long as twenty others."""

TITLE = "Studies"

MOST_WORDS = 400
"""The number of characters of a study's command lines that the search finds."""


def publish(
    directory: str | Path,
    *,
    title: str = TITLE,
    reports: int = REPORTS,
    links: str = "",
    repository: str | None = None,
    store: str | None = None,
    warned: Warned | None = None,
) -> Published:
    """Write a site of all studies of a store into a directory: plain pages for a browser or any web host.

    Arguments:
        directory: a new or empty one, or one that holds a site already; only changed studies are written again.
        title: heading of the first page.
        reports: the number of newest studies whose full report, with all pictures, is drawn.
        links: URL of a commit, with {commit} in it.
        repository: the git repository with the order of commits [default: the working directory's repository].
        store: where the studies are kept [default: the usual store].
        warned: called with a sentence about recovered runs or damaged parts of the store.

    Values of environment variables that were given to programs are left out.
    Raises UsageError for a directory that becalm did not write, MachineError, StoreError.
    """
    site = SiteDirectory(Path(directory).expanduser())
    tell = warned or (lambda _: None)
    with Store.open(store) as opened:
        recover(opened)
        busy = in_use(opened)
        stamps = {number: f"{stamp} busy" if number in busy else stamp for number, stamp in opened.stamps().items()}
        full = set(itertools.islice(reversed(stamps), max(0, reports)))
        entries, drawn, left_out = dict(site.known), [], []
        for number in stamps:
            known = site.known.get(number)
            wants = number in full or (known is not None and known.report)
            if known is not None and known.stamp == stamps[number] and known.report >= wants and _there(site, known):
                continue
            entries[number], reason = _draw(site, opened, number, stamps[number], number in busy, wants)
            drawn.append(number)
            if reason:
                left_out.append(words.damaged(number, reason))
        removed = sorted(set(site.known) - set(stamps))
        for number in removed:
            site.remove(*study_files(number))
            del entries[number]
        studies = tuple(entries[number] for number in reversed(stamps))
        shown = opened.shown
    for sentence in left_out:
        tell(sentence)
    changed = bool(removed) or any(entries[number].project for number in drawn) or not site.has(BENCHMARKS)
    projects = tuple(sorted({study.project for study in studies} - {""}))
    if changed:
        timelines = _timelines(projects, {"links": links, "repository": repository, "store": store, "warned": warned})
        projects = _write_projects(site, title, timelines)
    site.assets()
    site.write_new(INDEX, pages.index(title, studies, benchmarks=bool(projects), store=Path(shown).name))
    site.keep(studies)
    published = Published(
        directory=str(site.path),
        index=str(site.path / INDEX),
        store=shown,
        studies=studies,
        drawn=tuple(drawn),
        removed=tuple(removed),
        projects=projects,
        left_out=tuple(left_out),
        size=site.size(),
        measuring=tuple(sorted(busy & set(stamps))),
    )
    return replace(published, sentence=words.published(published))


def _there(site: SiteDirectory, known: PublishedStudy) -> bool:
    """Return whether the page of a study is in the directory."""
    return site.has(study_files(known.number)[0])


def _draw(
    site: SiteDirectory, opened: Store, number: int, stamp: str, measured_now: bool, full: bool
) -> tuple[PublishedStudy, str]:
    """Write the files of a study. Return its row of the list, and the reason where it has no results."""
    page, table, report = study_files(number)
    (stored,) = opened.some([number])
    entry, reason = _entry(opened, stored, stamp, measured_now), ""
    document: Document | None = None
    conclusion: Any = None
    try:
        document = _without_values(document_of(opened, number))
        conclusion = _shown(conclude(document), document)
    except StoreError as error:
        reason = str(error)
    except BecalmError as error:
        # A search that is not finished, an import of which nothing can be concluded: its runs are shown.
        entry = replace(entry, result=entry.result or one_line(str(error)))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A stored value of a wrong type: the other studies are published all the same.
        reason = f"{type(error).__name__}: {error}."
    about = None if document is None else circumstances(document.study, document.facts, document.created_ns)
    if document is not None:
        site.write(table, table_csv.write(document))
    if full and conclusion is not None and not measured_now:
        site.write(report, as_html(conclusion))
        entry = replace(entry, report=True)
    why = reason or entry.result or "There is no result yet."
    site.write(page, pages.study(entry, document, conclusion, about, why))
    return entry, reason


def _entry(opened: Store, stored: StoredStudy, stamp: str, measured_now: bool) -> PublishedStudy:
    outcome = outcome_of(opened, stored, measured_now)
    options, host = stored.study.options, stored.facts.get("host")
    machine = host.get("hostname") if isinstance(host, dict) else ""
    tags = options.get("tags")
    return PublishedStudy(
        number=stored.number,
        stamp=stamp,
        kind=stored.study.kind,
        title=_title(stored),
        created_ns=stored.created_ns,
        machine=str(options.get("machine") or machine or stored.study.host),
        runs=stored.runs,
        state="damaged" if stored.damaged else outcome.state,
        result=stored.damaged or outcome.result,
        project=str(options.get("project") or "") if stored.study.kind == "record" else "",
        commit=str(options.get("commit") or "") if stored.study.kind == "record" else "",
        tags=tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else (),
        commands=" ".join(shlex.join(workload.argv) for workload in stored.study.workloads)[:MOST_WORDS],
    )


def _title(stored: StoredStudy) -> str:
    """Return the title of a study in the list: for a session, its place in the history of its project."""
    options = stored.study.options
    if stored.study.kind == "record" and options.get("project"):
        place = f"{options['project']} {history_words.short(str(options.get('commit') or ''))}"
        return f"{place}: {options['subject']}" if options.get("subject") else place
    return stored.study.title or ", ".join(dict.fromkeys(workload.name for workload in stored.study.workloads))


def _without_values(document: Document) -> Document:
    """Return a study whose programs have no values of environment variables, which may be secrets."""

    def covered(workload: Workload) -> Workload:
        return dataclasses.replace(workload, environment=tuple((name, "…") for name, _ in workload.environment))

    workloads = tuple(map(covered, document.study.workloads))
    return replace(document, study=replace(document.study, workloads=workloads))


def _shown(conclusion: Any, document: Document) -> Any:
    """Return a result whose command lines are those of a study without values of environment variables."""
    if isinstance(conclusion, Verdict) and conclusion.circumstances is not None:
        commands = circumstances(document.study, document.facts, document.created_ns).commands
        return replace(conclusion, circumstances=replace(conclusion.circumstances, commands=commands))
    return conclusion


def _timelines(names: Iterable[str], options: dict[str, Any]) -> Iterator[Timeline]:
    """Yield the history of each project that has a finished session."""
    yield from (timeline for name in names if (timeline := history(name, **options)).sessions)


def _write_projects(site: SiteDirectory, title: str, timelines: Iterable[Timeline]) -> tuple[str, ...]:
    """Write the page of each project, and the list of all benchmarks; return the names of the projects."""
    written: list[tuple[str, Timeline]] = []
    for timeline in timelines:
        address = project_file(len(written))
        site.write_new(address, timeline_page(timeline))
        written.append((address, timeline))
    position = len(written)
    while site.has(project_file(position)):
        site.remove(project_file(position))
        position += 1
    site.write_new(BENCHMARKS, pages.benchmarks(f"{title}: benchmarks over commits", written))
    return tuple(timeline.project for _, timeline in written)
