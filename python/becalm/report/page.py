"""A report as one HTML page that needs nothing else: no network, pictures and style within.

A Content-Security-Policy permits the page to load nothing and to run only the script that it is given.

`page.html` is what all pages have, `parts.html` a page of sentences and then headings, `grid.html` a table,
`sections.html` what stands under a heading; the template of a kind of report extends them. jinja2 fills them and
escapes every name of a program. Both jinja2 and matplotlib, which draws the pictures, are imported only when a page is
asked for: they take longer than a short comparison.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

from becalm._version import VERSION
from becalm.report.table import Table
from becalm.values import dataclass
from becalm.wording.printable import encodable, printable

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG element and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page. `folded`: its table is for those who ask."""

    title: str
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None
    folded: bool = False


def filled(template: str, *, script: str = "", policy: str = "", **values: object) -> str:
    """Return the page of a template, which is given by its path below `becalm/report`.

    `script`: the text of its only script; `policy`: the Content-Security-Policy of a page that consists of several
    files [default: nothing is loaded, and the script runs].
    """
    values |= {"script": script, "policy": policy or _policy(script)}
    segments = _environment().get_template(template).render(version=VERSION, style=_text("page.css"), **values)
    # A name that is no UTF-8 comes with surrogates (PEP 383), which no page can hold.
    return encodable(segments) + "\n"


def _policy(script: str) -> str:
    """Return the policy of a page that stands alone: a script is permitted by its hash, a style wherever it is."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"'sha256-{digest}'" if script else "'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    """Return what fills templates; it keeps those that it has compiled."""
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
    """Return what a page shows of a value: of a text without control characters and direction overrides."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


_OPTION = re.compile(r"--[a-z][\w-]*(?: (?:[\d.]+\w*%?|[A-Z]+)(?![\w-]))?")


def _whole(text: str) -> object:
    """Return a sentence in which no line ends within an option, which a browser would break at its hyphens."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(lambda match: f'<span class="option">{match[0]}</span>', str(escape(printable(text)))))


@cache
def _text(path: str) -> str:
    # Some 5 ms, for which a report on the terminal need not wait.
    from importlib import resources

    return resources.files("becalm.report").joinpath(path).read_text(encoding="utf-8")
