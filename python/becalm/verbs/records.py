"""`becalm show`, `export`, `import`: stored studies. Returns data, prints nothing."""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from becalm.errors import BecalmError, UnfinishedError, UsageError
from becalm.files.text import STANDARD_INPUT, read_text
from becalm.load import sadf
from becalm.nouns.conform import conform
from becalm.nouns.finding import Finding
from becalm.nouns.result import Result
from becalm.nouns.run import COLUMNS, Run
from becalm.report.document import Document
from becalm.report.formats import FORMATS, FormatRow, format_row, read
from becalm.report.formats.becalm_json import loads_to_json
from becalm.report.formats.left_out import of_documents
from becalm.report.forms import FORMS, Conclusion, draw_all
from becalm.results.compare import Verdict
from becalm.results.multi_host import MultiHostVerdict
from becalm.results.survey import SurveyResult
from becalm.store import Store
from becalm.study.known_content import KnownContent
from becalm.study.stored import Warned, document_of, stored
from becalm.verbs import StudyKind, function, kind_of
from becalm.verbs.import_history import HistoryPlace, in_history
from becalm.verbs.record import conclude as conclude_session


class Shown(Result, frozen=True):
    """A stored study with its result."""

    document: Document
    verdict: Conclusion

    @property
    def sentence(self) -> str:
        """The sentence of its result."""
        return self.verdict.sentence

    def _repr_html_(self) -> str:
        from becalm.report.notebook import fragment

        return fragment(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the documented form, with its runs and the loads next to them."""
        # `runs` of a rating is a number of rounds, and `becalm export` has the runs.
        return {**_runs(self.document), **self.verdict.to_json()}


def show(reference: str | int = "last", store: str | None = None, *, warned: Warned | None = None) -> Shown:
    """Return a study again: its number, or "last". Raises UsageError when there is none, StoreError.

    The result has the stored verdict; without one, a verdict computed from the study's runs. `warned` is called with a
    sentence on the runs recovered from killed becalms.
    """
    document = stored(reference, store, warned=warned, later=True)
    return Shown(document, conclude(document))


def show_together(
    reference: str | int = "last", store: str | None = None, *, warned: Warned | None = None
) -> MultiHostVerdict | SurveyResult:
    """Return all studies that were measured together with this one. Raises UsageError when there are none,
    StoreError."""
    document = stored(reference, store, warned=warned)
    study, group = document.study, str(document.study.options.get("group") or "")
    pool = kind_of(study.kind).pool
    if not group or not pool:
        raise UsageError(f"Study {document.number} is a {study.kind} by itself: nothing was measured together with it.")
    with Store.open(store) as opened:
        others = opened.in_group(group)
        documents = [document if other == document.number else document_of(opened, other, warned) for other in others]
    result = function(pool)(documents, conclude)
    assert isinstance(result, (MultiHostVerdict, SurveyResult))
    return result


def conclude(document: Document) -> Conclusion:
    """Return the result of a study. Raises UsageError for a search that was not finished, and what its kind does."""
    kind = kind_of(document.study.kind)
    # Fields of a damaged verdict may be missing or of any type.
    with contextlib.suppress(KeyError, TypeError, ValueError):
        if (conclusion := _stored_conclusion(document, kind)) is not None:
            return conclusion
    return cast(Conclusion, function(kind.conclude)(document))


def _stored_conclusion(document: Document, kind: StudyKind) -> Conclusion | None:
    """Return the stored verdict of a study; None where its kind stores none. Raises ValueError for a wrong type in it,
    KeyError or TypeError for one of another form."""
    if not kind.read or document.verdict is None:
        return None
    verdict: Any = function(kind.read)(document.verdict)
    conform(type(verdict), verdict, "the verdict", finite=False)
    return cast(Conclusion, replace(verdict, study=document.number))


def to_json(conclusion: Conclusion, store: str | bool | None = None) -> dict[str, Any]:
    """Return the documented form of a verb's result, with its runs where the store has them."""
    value = conclusion.to_json()
    place = store if isinstance(store, str) else None
    if isinstance(conclusion, Verdict) and conclusion.study is not None:
        return {**value, **_runs(stored(conclusion.study, place))}
    if isinstance(conclusion, MultiHostVerdict):
        for shown, host_verdict in zip(value["hosts"], conclusion.hosts, strict=True):
            if isinstance(host_verdict.verdict, Verdict):
                shown["verdict"] = to_json(host_verdict.verdict, store)
    return value


def _runs(document: Document) -> dict[str, Any]:
    rows = [list(run) for run in document.runs]
    return {"runs": {"columns": list(COLUMNS), "rows": rows}, "loads": loads_to_json(document.loads)}


def export_series(
    path: str | Path,
    reference: str | int = "last",
    *,
    raw: bool = False,
    store: str | None = None,
    warned: Warned | None = None,
) -> int:
    """Write the load over time of a study as CSV or Parquet, by the file's ending; returns the number of samples.

    `raw`: names that a spreadsheet takes for formulas stay as they are in CSV. `warned` as in `show`.
    Raises UsageError for a study without any or a file of another kind, MachineError, StoreError.
    """
    from becalm.report.formats import series

    series.check(Path(path))
    return series.write(stored(reference, store, warned=warned), Path(path), raw=raw)


def export(
    reference: str | int = "last",
    *,
    format: str = "json",
    raw: bool = False,
    store: str | None = None,
    warned: Warned | None = None,
) -> str:
    """Return a study as the text of a file; `warned` as in `show`, and for programs that the format has no place for.

    `raw`: in CSV names that a spreadsheet takes for formulas stay as they are.
    Raises UsageError for an unknown study or format, and for one that has a place for none of its programs; StoreError.
    """
    row = format_row(format)
    if raw and row.ending != ".csv":
        raise UsageError(f"raw is for cells of CSV, and the format {row.name} has none. Leave it out.")
    document = stored(reference, store, warned=warned, salvage=bool(row.module))
    text = written(document, row) if not raw else _raw_table(document)
    if warned is not None:
        for reason in row.unwritten(document):
            warned(f"{reason}.")
    return text


def _raw_table(document: Document) -> str:
    from becalm.report.formats import table_csv

    return table_csv.write(document, raw=True)


def written(document: Document, row: FormatRow) -> str:
    """Return a study as the text of a file: its data or its report.

    Raises UsageError for a format that has no place for timed regions.
    """
    if document.regions and row.module and not row.regions:
        others = ", ".join(other.name for other in FORMATS if other.regions or not other.module)
        raise UsageError(f"The format {row.name} is for runs, and these are timed regions. Take one of: {others}.")
    return row.writer()(document) if row.module else FORMS[row.ending](conclude(document))


DRAWN = 3
"""The number of studies of one import that are drawn as a check."""


class Imported(msgspec.Struct, frozen=True):
    """The result of an import.

    - `studies`: the numbers of the imported studies, in the order of the file.
    - `known`: the numbers among them that were stored before.
    - `left_out`: entries of the file that are not values, counted by reason.
    - `project`: the project whose sessions the studies are; empty for studies of their own.
    """

    studies: tuple[int, ...]
    known: tuple[int, ...] = ()
    left_out: tuple[Finding, ...] = ()
    project: str = ""


def import_(path: str | Path, store: str | None = None, **place: str | None) -> tuple[int, ...]:
    """Put the studies of a file (docs/reference/formats.md, timed regions) into the store, all or none.

    `place`: the fields of `HistoryPlace`, by name: where in the history of which project results of other tools belong
    [default: they are studies of their own; asv's and tables over commits are sessions of the project that they name].
    Returns their numbers; a study that the store has already keeps its number, and nothing changes.

    Raises UsageError for a file that cannot be understood, or with a study that could not be shown; StoreError.
    """
    return import_file(path, store, **place).studies


def import_file(
    path: str | Path,
    store: str | None = None,
    *,
    t_diff: str | float | None = None,
    alongside: str | int | None = None,
    **place: str | None,
) -> Imported:
    """Import a file as `import_` does, and return also the left out entries and the studies that are not new.

    `t_diff`, `alongside`: as in `import_regions`, for a file of timed regions.
    """
    from becalm.verbs import regions  # The list of studies is read without them.

    timed = (t_diff, alongside) != (None, None)
    if timed or (not Path(path).is_dir() and str(path) != STANDARD_INPUT and regions.is_regions(Path(path))):
        study, before = regions.import_known(path, store, t_diff=t_diff, alongside=alongside)
        return Imported((study,), (study,) if before else ())
    documents = in_history(read(Path(path)), HistoryPlace(**place), path)
    numbers: list[int] = []
    known: list[int] = []
    with Store.open(store) as opened, opened.together():
        content = KnownContent(opened)
        for document in documents:
            number = content.number(document)
            if number is not None:
                known.append(number)
            else:
                number = _added(opened, document)
                content.add(number, document)
                # Studies of a directory have one maker: the first few show whether the others can be drawn.
                drawn = document.verdict is not None or len(numbers) - len(known) < DRAWN
                if wrong := _wrong(document_of(opened, number), drawn=drawn):
                    which = f"study {len(numbers) + 1} of {len(documents)}, " if len(documents) > 1 else ""
                    title = document.study.title or document.study.kind
                    raise UsageError(f"{path} was not imported: {which}{title!r:.80}, could not be shown: {wrong}")
                _keep_conclusion(opened, number, document)
            numbers.append(number)
    project = str(documents[0].study.options.get("project") or "") if documents else ""
    return Imported(tuple(numbers), tuple(known), of_documents(document.noticed for document in documents), project)


def _added(opened: Store, document: Document) -> int:
    """Store a document as a study; returns its number."""
    from becalm.files.region_codec import records_of

    number = opened.begin(
        document.study,
        document.facts,
        environment=document.environment,
        created_ns=document.created_ns,
        **({"becalm": document.becalm} if document.becalm else {}),
    )
    opened.append(number, document.runs, document.texts)
    opened.append_loads(number, document.loads, document.series, document.others)
    opened.append_regions(number, ((records_of(region), region) for region in document.regions))
    for noticed in document.noticed:
        opened.notice(number, noticed)
    if document.verdict is not None:
        opened.conclude(number, document.verdict)
    return number


def _keep_conclusion(opened: Store, number: int, document: Document) -> None:
    """Store the conclusion of an imported session, as `record` does, so that a history need not compute it."""
    if document.study.kind == "record" and document.verdict is None:
        with contextlib.suppress(BecalmError):
            opened.conclude(number, conclude_session(document_of(opened, number)).to_json())


def _wrong(document: Document, *, drawn: bool = True) -> str:
    """Return the error that showing, exporting or drawing a study raises, as a sentence; empty for a correct study.

    `drawn`: also draw its page, which takes most of the time.
    """
    try:
        with contextlib.suppress(UnfinishedError):
            kind = kind_of(document.study.kind)
            with contextlib.suppress(KeyError, TypeError):
                _stored_conclusion(document, kind)
            concluded = conclude(document)
            if drawn:
                draw_all(concluded)
        for row in FORMATS:
            if row.module:
                with contextlib.suppress(BecalmError):
                    row.writer()(document)
    except BecalmError as error:
        return str(error)
    except Exception as error:  # Any at all: it would be a defect when it is shown, and here it is the file's.
        return f"{type(error).__name__}: {error}."
    return ""


class ImportedLoad(Result, frozen=True):
    """The result of adding a record of sysstat to a study: `covered` of the study's `runs` have a record of load now.

    `machine`: the machine of the record; `left_out`: a sentence on each kind of entry in the file that was not used.
    """

    KIND = "import"

    study: int
    covered: int
    runs: int
    machine: str
    left_out: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The sentence about the result."""
        return f"{self.covered} of the {self.runs} runs of study {self.study} have a record of load now."


def import_load(
    path: str | Path, reference: str | int, store: str | None = None, *, machine: str | None = None
) -> ImportedLoad:
    """Give the runs of a study the load that sysstat recorded meanwhile (`sadf -j`), by their time stamps.

    `machine`: whose record it is, of a study that does not tell its machine. Raises UsageError when the file is no such
    record or does not cover any run, when runs have no time stamps, or when load was recorded with them; StoreError.
    """
    text = read_text(path)
    with Store.open(store) as opened:
        number = opened.resolve(reference)
        record = sadf.read(text, _machine(opened.study(number).facts, number, machine), str(path))
        if opened.loads(number) or opened.damaged(number):
            raise UsageError(
                f"Study {number} has its own record of load, made with its runs, and keeps it: becalm explain {number}"
            )
        seqs, stamped, unknown = array("q"), False, False

        def noted() -> Iterator[Run]:
            """Yield the runs, and note what the answer says of them."""
            nonlocal stamped, unknown
            for run in opened.runs(number):
                seqs.append(run.seq)
                stamped |= bool(run.started_ns)
                unknown |= run.wall_ns is None
                yield run

        loads = sadf.loads(record.intervals, noted())
        if seqs and not stamped:
            raise UsageError(
                f"The runs of study {number} have no time stamps (hyperfine, for example, writes none), so "
                "their place in the record is not known."
            )
        if not loads:
            span = f"{_moment(record.intervals[0].begin_ns)} to {_moment(record.intervals[-1].end_ns)}"
            raise UsageError(
                " ".join(
                    [f"{path} covers {span} (UTC), and no run of study {number} lies within it.", *record.left_out]
                )
            )
        opened.append_loads(number, loads)
    covered = sum(bisect_right(seqs, load.last) - bisect_left(seqs, load.first) for load in loads)
    remarks = list(record.left_out)
    if unknown:
        remarks.append("How long these runs took is not recorded: each has the load of the interval that it began in.")
    return ImportedLoad(number, covered, len(seqs), record.host, tuple(remarks))


def _machine(facts: Mapping[str, Any], number: int, named: str | None) -> str | None:
    """Return whose record a study needs. Raises UsageError for another machine than that of the study."""
    host = facts.get("host")
    own = host.get("hostname") if isinstance(host, Mapping) else None
    own = own if isinstance(own, str) and own else None
    if named is not None and own is not None and named.split(".")[0].casefold() != own.split(".")[0].casefold():
        raise UsageError(f"Study {number} was measured on {own}, not on {named}. Leave --machine out.")
    return named or own


def _moment(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"
