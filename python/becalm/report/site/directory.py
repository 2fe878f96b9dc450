"""The directory of a site: its files, and the list of them by which becalm recognises a site."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from msgspec import structs

from becalm._version import SCHEMA, VERSION
from becalm.errors import MachineError, UsageError
from becalm.files import written
from becalm.results.publish import PublishedStudy
from becalm.wording import publish as words

MANIFEST = "becalm-site.json"
FORM = 2
"""The version of the form of pages; pages of another version are written again."""

INDEX, BENCHMARKS, STYLE, SCRIPT = "index.html", "benchmarks.html", "becalm.css", "becalm.js"
STUDIES, PROJECTS = "studies", "projects"


def study_files(number: int) -> tuple[str, str, str]:
    """Return the names of the files of a study: its page, its runs, and its full report."""
    return f"{STUDIES}/{number}.html", f"{STUDIES}/{number}.csv", f"{STUDIES}/{number}-report.html"


def project_file(position: int) -> str:
    """Return the name of the page of a project, by its position in the order of names."""
    return f"{PROJECTS}/{position + 1}.html"


class SiteDirectory:
    """A directory with a site of becalm, or one that is to become a site."""

    def __init__(self, path: Path) -> None:
        """Open a directory, and make it where it does not exist. Raises UsageError for one with other files."""
        self.path = path
        known = _manifest(path)
        if known is None and path.is_dir() and any(path.iterdir()):
            raise UsageError(words.foreign(str(path)))
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file. Give the name of a directory.")
        self.known = known or {}
        with _worded(path):
            for folder in (STUDIES, PROJECTS):
                (path / folder).mkdir(parents=True, exist_ok=True)
        if known is None:
            # Written before any page, so that an interrupted first attempt can be repeated.
            self.keep(())

    def write(self, name: str, text: str) -> None:
        """Write a file of the site as a whole. Raises MachineError."""
        with _worded(self.path):
            written.replace(self.path / name, text, mode=0o644, durable=False)

    def write_new(self, name: str, text: str) -> None:
        """Write a file unless it contains this text already. Raises MachineError."""
        with contextlib.suppress(OSError):
            if (self.path / name).read_bytes() == text.encode():
                return
        self.write(name, text)

    def remove(self, *names: str) -> None:
        """Remove those files of the site that exist. Raises MachineError."""
        with _worded(self.path):
            for name in names:
                (self.path / name).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return (self.path / name).is_file()

    def assets(self) -> None:
        """Write the style sheet and the script."""
        self.write_new(STYLE, f"{_text('page.css')}\n{_text('site/site.css')}")
        self.write_new(SCRIPT, _text("site/site.js"))

    def keep(self, studies: Sequence[PublishedStudy]) -> None:
        """Write the list of the site's studies."""
        rows = [structs.asdict(study) for study in studies]
        head = {"becalm": VERSION, "schema": SCHEMA, "kind": "site", "form": FORM, "studies": rows}
        self.write_new(MANIFEST, json.dumps(head, indent=0) + "\n")

    def size(self) -> int:
        """Return the size of all files, in bytes."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def _manifest(path: Path) -> dict[int, PublishedStudy] | None:
    """Return the studies of a site as last written, without details for another version; None without a site."""
    try:
        head = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if head.get("kind") != "site":
            return None
    except (OSError, ValueError, AttributeError):
        return None
    result = {}
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        # A site of another version is written anew; its numbers show which files may be removed.
        same = (head["becalm"], head["form"]) == (VERSION, FORM)
        for row in head["studies"]:
            study = _study(row)
            result[study.number] = study if same else _unknown(study)
    return result


def _study(row: Mapping[str, object]) -> PublishedStudy:
    names = set(PublishedStudy.__struct_fields__)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name in names}
    study = PublishedStudy(**values)  # type: ignore[arg-type]
    if not isinstance(study.number, int) or not isinstance(study.stamp, str):
        raise ValueError(study.number)
    return study


def _unknown(study: PublishedStudy) -> PublishedStudy:
    return PublishedStudy(study.number, study.kind, "", 0, "", 0, "", "", report=study.report)


@contextlib.contextmanager
def _worded(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError(f"The site {path} cannot be written: {error.strerror}. The store is unchanged.") from error


def _text(name: str) -> str:
    return resources.files("becalm.report").joinpath(name).read_text(encoding="utf-8")
