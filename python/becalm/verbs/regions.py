"""Timed regions of users' own code: files that becalm-clock and becalm_regions.h wrote.

`import_regions` puts a file into the store (`becalm import`), `conclude` returns the report of a stored one (`becalm
show`), `compare_regions` compares old files with new ones (`becalm compare --regions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from becalm.analysis import clock_choice, regions_outliers, regions_overview, regions_variation
from becalm.analysis.clock_comparison import SAME_CLOCK
from becalm.analysis.regions_lengths import Lengths, gather
from becalm.errors import UnfinishedError, UsageError
from becalm.files import region_codec as codec
from becalm.files.text import NotTextError, open_bytes
from becalm.nouns.codec import plain_dict
from becalm.nouns.finding import Finding
from becalm.nouns.study import Study
from becalm.report.document import Document
from becalm.results.regions import RegionComparison, RegionReport, TimerLimit
from becalm.results.regions_overview import RegionOverview
from becalm.store import Store, kept_clocks, timer_limits
from becalm.store.timer_limits import TimerLimits
from becalm.study.known_content import KnownContent
from becalm.study.stored import stored
from becalm.units import duration_ns, fraction
from becalm.wording.findings import finding, reworded
from becalm.wording.regions import unreadable

KIND = "regions"
MACHINE_ID = Path("/etc/machine-id")


def is_regions(path: Path) -> bool:
    """Return whether a file contains regions, even if damaged. Raises UsageError when it cannot be read."""
    if path.exists() and not path.is_file():
        # A pipe can be read only once.
        return False
    try:
        with open_bytes(path) as file:
            begin = file.read(1 << 16)
    except (OSError, NotTextError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return begin.startswith(codec.MAGIC) or (codec.BLOCK in begin and begin[:1] not in (b"{", b"[", b"\x1f"))


def import_regions(
    path: str | Path, store: str | None = None, *, t_diff: str | float | None = None, alongside: str | int | None = None
) -> int:
    """Put a file of timed regions into the store; returns its number. A file that it holds already keeps its number.

    Arguments:
        t_diff: the smallest change that the timer can show: a length, or a file of `becalm clock --json`; None: what
            the last `becalm clock` on this machine found, where the file's clock is that one.
        alongside: the study (number or "last") whose record of load may explain outliers.

    Raises UsageError for a file of which nothing can be read, StoreError.
    """
    return import_known(path, store, t_diff=t_diff, alongside=alongside)[0]


def import_known(
    path: str | Path, store: str | None, *, t_diff: str | float | None, alongside: str | int | None
) -> tuple[int, bool]:
    """Import as `import_regions`, and return whether the file was in the store before, too."""
    path = Path(path)
    header, damage = _scanned(path)
    timer = _timer(header, t_diff)
    options: dict[str, Any] = {"t_diff": None if timer is None else plain_dict(timer), "damage": plain_dict(damage)}
    if timer is None and (limits := timer_limits.load_limits()):
        elsewhere = _elsewhere(header) and set(limits) == {"local"}
        options |= {"elsewhere": True} if elsewhere else {"kept_hz": list(limits.values())[-1].hz}
    if alongside is not None:
        load = stored(alongside, store)
        options["alongside"] = load.number
        options["causes"] = [plain_dict(cause) for cause in _causes(path, load, timer)]
    with Store.open(store) as opened, opened.together():
        study = Study(KIND, (), options=options, host="file", title=path.name)
        known = KnownContent(opened).regions(study, header.unix_ns, lambda: _pieces(path))
        if known is not None:
            return known, True
        facts = {"host": {"machine_id_hash": header.machine, "boot_id": header.boot}, "cpu": {"model": header.model}}
        number = opened.begin(study, facts, environment="unknown", created_ns=header.unix_ns)
        # The file is read again, so that only one piece is in memory at a time.
        read = _Opened(path)
        with read.file:
            opened.append_regions(number, ((part.records, part.data) for part in read.parts))
    return number, False


def conclude(document: Document) -> RegionReport:
    """Return the report of a stored file of regions. Raises UnfinishedError where none can be read."""
    lengths = gather(document.regions)
    if lengths is None:
        raise UnfinishedError("The study has no timed regions that could be read: import its file again.")
    options = document.study.options
    try:
        timer = None if options.get("t_diff") is None else TimerLimit(**_object(options["t_diff"]))
        damage = codec.Damage(**_object(options.get("damage") or {}))
        causes = [reworded(_object(cause)) for cause in list(options.get("causes") or ())]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"The options of this study of regions cannot be read: {error}.") from error
    arguments: dict[str, Any] = {
        "study": document.number,
        "title": document.study.title or KIND,
        "timer": timer,
        "damage": damage,
    }
    if (kept_hz := options.get("kept_hz")) is not None and timer is None:
        causes.insert(0, finding("region_timer", {"kept_hz": kept_hz, "hz": lengths.header.hz}))
    if options.get("elsewhere"):
        causes.insert(0, finding("region_elsewhere", {}))
    alongside = options.get("alongside")
    return regions_variation.report(
        lengths, **arguments, causes=causes, alongside=alongside if isinstance(alongside, int) else None
    )


def compare_regions(
    old: Sequence[str | int],
    new: Sequence[str | int],
    *,
    t_diff: str | float | None = None,
    confidence: float | str = 0.95,
    fail_above: float | str | None = None,
    undecided: str = "fail",
    store: str | None = None,
) -> RegionComparison:
    """Compare timed regions before a change and after it, name by name.

    Arguments:
        old, new: files of regions, or numbers of studies that hold one; several files a side are as many processes.
        t_diff: as in `import_regions`; None: the largest that the studies have, or that holds for the files' clock.
        confidence: of all intervals together.
        fail_above, undecided: as in `compare`: a limit for the slowdown of each name.

    Raises UsageError for a side without a file, or a file that cannot be read; StoreError.
    """
    from becalm.analysis import regions_comparison

    if not old or not new:
        raise UsageError("Both sides need a file: becalm compare --regions OLD NEW, or --regions OLD… --against NEW….")
    if undecided not in ("fail", "pass"):
        raise UsageError(f"--undecided is pass or fail, not {undecided!r}.")
    level = fraction(confidence)
    if not 0 < level < 1:
        raise UsageError(f"A confidence lies between 0 and 1, {confidence} does not.")
    limit = None if fail_above is None else fraction(fail_above)
    sides = [[_lengths(reference, store) for reference in side] for side in (old, new)]
    limits = [own for side in sides for _, own in side if own is not None]
    files = tuple([lengths for lengths, _ in side] for side in sides)
    timer = max(limits, key=lambda limit: limit.t_diff_ns, default=None)
    if t_diff is not None:
        timer = _timer(files[0][0].header, t_diff)
    return regions_comparison.compare(
        *files,
        titles=([Path(str(reference)).name for reference in old], [Path(str(reference)).name for reference in new]),
        timer=timer,
        confidence=level,
        fail_above=limit,
        undecided=undecided,
    )


def show_regions(files: Sequence[str | Path], *, t_diff: str | float | None = None) -> RegionReport | RegionOverview:
    """Show files of timed regions without storing them: one, or several of processes, ranks or nodes side by side.

    Arguments:
        t_diff: as in `import_regions`.

    Raises UsageError for a file of which nothing can be read.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise UsageError("Name a file of timed regions: becalm show parse.*.regions.")
    gathered = [_lengths(str(path), None) for path in paths]
    if len(paths) == 1:
        header, damage = _scanned(paths[0])
        timer = _timer(header, t_diff)
        return regions_variation.report(gathered[0][0], study=None, title=paths[0].name, timer=timer, damage=damage)
    return regions_overview.overview([lengths for lengths, _ in gathered], _titles(paths))


def _titles(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders where names alone are not distinct."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


class _Opened:
    """A file of regions that is open, and its pieces."""

    def __init__(self, path: Path) -> None:
        try:
            self.file = open_bytes(path)
        except (OSError, NotTextError) as error:
            raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
        self.parts = codec.parts(self.file)


def _causes(path: Path, load: Document, timer: TimerLimit | None) -> list[Finding]:
    """Return the findings of a study's record of load on the outliers in a file."""
    lengths = gather(_pieces(path))
    if lengths is None:
        return []
    report = regions_variation.report(lengths, study=None, title="", timer=timer)
    first_seqs = {load_series.first for load_series in load.series}
    started = {run.seq: run.started_ns for run in load.runs if run.seq in first_seqs} if first_seqs else {}
    ticks = regions_outliers.ticks(load.loads, load.series, started)
    return list(regions_outliers.causes(report, lengths, ticks, load.number or 0))


def _scanned(path: Path) -> tuple[codec.RegionHeader, codec.Damage]:
    """Return the header of a file, and the file's damage. Raises UsageError where there is none."""
    read = _Opened(path)
    header, many = None, 0
    with read.file:
        for part in read.parts:
            many += part.records
            if part.kind == "header":
                header = codec.header(part.data)
    if header is None:
        raise UsageError(unreadable(str(path), many))
    return header, read.parts.damage


def _lengths(reference: str | int, store: str | None) -> tuple[Lengths, TimerLimit | None]:
    """Return the regions of a file or of a study, and the limit of its timer."""
    text = str(reference)
    if text.isdigit() or text == "last":
        document = stored(text, store)
        if document.study.kind != KIND:
            raise UsageError(f"Study {document.number} is a {document.study.kind}, not a file of regions.")
        lengths, stored_limit = gather(document.regions), document.study.options.get("t_diff")
        timer = TimerLimit(**_object(stored_limit)) if stored_limit else None
    else:
        header, _ = _scanned(Path(text))
        lengths, timer = gather(_pieces(Path(text))), _timer(header, None)
    if lengths is None:
        raise UsageError(f"No region of {text} can be read.")
    return lengths, timer


def _pieces(path: Path) -> Iterator[bytes]:
    read = _Opened(path)
    with read.file:
        yield from (part.data for part in read.parts)


def _timer(header: codec.RegionHeader, t_diff: str | float | None) -> TimerLimit | None:
    """Return the limit of the timer of a file. Raises UsageError for neither a length nor a file of an evaluation."""
    if t_diff is None:
        return _stored_limit(header)
    if isinstance(t_diff, str) and Path(t_diff).is_file():
        report = kept_clocks.find(str(Path(t_diff).resolve()))
        if report.emulated:
            raise UsageError(
                f"{t_diff} is of an emulated machine, whose timer says nothing of this file. Give a length: "
                "--t-diff 5ns."
            )
        limit = clock_choice.region_limit(report)
        if limit is None or not _same_rate(limit, header):
            raise UsageError(f"{t_diff} tells no t_diff of this file's clock. Give a length: --t-diff 5ns.")
        return TimerLimit(limit.t_diff_ns, Path(t_diff).name, limit.t_min_ns)
    kept_limit = _stored_limit(header)
    return TimerLimit(float(duration_ns(t_diff)), "given", None if kept_limit is None else kept_limit.t_min_ns)


def _stored_limit(header: codec.RegionHeader) -> TimerLimit | None:
    """Return the stored limits of a file's clock: of this machine for its own files, else of another."""
    limits = timer_limits.load_limits()
    if _elsewhere(header):
        limits.pop("local", None)
    alike = [limit for limit in limits.values() if _same_rate(limit, header)]
    return TimerLimit(alike[-1].t_diff_ns, "kept", alike[-1].t_min_ns) if alike else None


def _same_rate(limit: TimerLimits, header: codec.RegionHeader) -> bool:
    return abs(limit.hz / header.hz - 1) <= SAME_CLOCK


def _elsewhere(header: codec.RegionHeader) -> bool:
    """Return whether a file is of another machine than this, as far as both are known."""
    here = this_machine()
    return "" not in (here, header.machine) and here != header.machine


def this_machine() -> str:
    """Return the hash of this machine's id that files of regions have (FNV-1a, 64 bits); empty without an id."""
    try:
        name = MACHINE_ID.read_bytes().split(b"\n")[0].strip()
    except OSError:
        return ""
    digest = 0xCBF29CE484222325
    for byte in name:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return f"{digest:016x}" if name else ""


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return value
