"""A report as one self-contained HTML page: no network, plots and style within.

A Content-Security-Policy permits the page to load nothing and to run only its own script. `page.html` is the base of
all pages, `parts.html` a page of sentences and sections, `grid.html` a table, `sections.html` the content of a section;
the template of a kind of report extends them. jinja2 fills templates and escapes every name of a program. jinja2, and
matplotlib, which draws the plots, are imported only when a page is needed: their import takes longer than a short
comparison.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from becalm._version import VERSION
from becalm.report.table import Table
from becalm.wording.printable import encodable, printable

if TYPE_CHECKING:
    from jinja2 import Environment


class Picture(msgspec.Struct, frozen=True):
    """A plot as an SVG element, with its caption."""

    svg: str
    caption: str


class Part(msgspec.Struct, frozen=True):
    """A section of the page. `folded`: its table is hidden until the reader opens it."""

    title: str
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None
    folded: bool = False


class Section(msgspec.Struct, frozen=True):
    """A section of a page about one subject, with its answer. `mood`: good or bad."""

    title: str
    mood: str
    sentence: str
    parts: tuple[Part, ...]


def filled(template: str, *, script: str = "", policy: str = "", **values: object) -> str:
    """Return the page of a template, given by its path below `becalm/report`.

    `script`: the text of its only script; `policy`: the Content-Security-Policy of a page that consists of several
    files [default: nothing is loaded, and the script runs].
    """
    values |= {"script": script, "policy": policy or _policy(script)}
    segments = _environment().get_template(template).render(version=VERSION, style=_text("page.css"), **values)
    # A name that is not UTF-8 contains surrogates (PEP 383), which no page can hold.
    return encodable(segments) + "\n"


def _policy(script: str) -> str:
    """Return the policy of a self-contained page: its script is permitted by a hash, styles anywhere in the page."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"'sha256-{digest}'" if script else "'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    """Return the environment that fills templates and caches compiled ones."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
        finalize=_visible,
    )
    environment.filters["whole"] = _whole
    return environment


def _visible(value: object) -> object:
    """Return a value as a page shows it: text without control characters and direction overrides."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


_OPTION = re.compile(r"--[a-z][\w-]*(?: (?:[\d.]+\w*%?|[A-Z]+)(?![\w-]))?")


def _whole(text: str) -> object:
    """Return a sentence in which no line breaks within an option, at whose hyphens a browser would break it."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(lambda match: f'<span class="option">{match[0]}</span>', str(escape(printable(text)))))


@cache
def _text(path: str) -> str:
    # Imported here because it takes some 5 ms, which a report on the terminal does not need.
    from importlib import resources

    return resources.files("becalm.report").joinpath(path).read_text(encoding="utf-8")
