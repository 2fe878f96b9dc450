"""The site of becalm's documents: `make docs`. Pages are Markdown, with tables by tools/documents.py in them."""

import ast
import importlib
import json
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools")]

import reference  # noqa: E402

from becalm._version import VERSION  # noqa: E402
from becalm.report.json_schema import json_schema, kinds_with_schema  # noqa: E402

project = "becalm"
copyright = "the becalm authors"
release = version = VERSION
html_title = f"becalm {VERSION}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# Names in docstrings stand in single backquotes, as in Markdown.
default_role = "literal"
nitpicky = True
# Only what is documented here can be linked to.
# Options of verbs for type checkers are listed with each verb, and have no entry of their own.
nitpick_ignore_regex = [("py:.*", r"(?!becalm\b).*"), ("py:class", r"becalm\..*Keywords")]

smartquotes = False

autodoc_typehints = "description"
# Fields of the typed options, as python/becalm/nouns/signature.py writes them into the docstrings of verbs.
napoleon_custom_sections = [("Options", "Args")]
autodoc_member_order = "bysource"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["becalm.css"]
html_copy_source = False
html_show_sphinx = False


ANNOTATED = (
    "becalm.hosts.applied_settings",
    "becalm.hosts.events",
    "becalm.hosts.protocol",
    "becalm.results.progress",
    "becalm.verbs.listing",
)
"""Modules with Structs whose fields have types that are imported for type checkers only."""


def import_for_type_checkers(name: str) -> None:
    """Import what a module imports only for type checkers: the signature of a Struct evaluates its annotations."""
    module = importlib.import_module(name)
    for block in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for part in block.body:
                if isinstance(part, ast.ImportFrom):
                    source = importlib.import_module(str(part.module))
                    for alias in part.names:
                        setattr(module, alias.asname or alias.name, getattr(source, alias.name))


for name in ANNOTATED:
    import_for_type_checkers(name)


class Table(SphinxDirective):
    """```{becalm-table} python```: a part of the reference that Sphinx alone can read (tools/reference.py)."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Its Markdown, read as if it stood in the page."""
        return self.parse_text_to_nodes(reference.TABLES[self.arguments[0]](), allow_section_headings=True)


written: dict[str, list[str]] = {}


def keep(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Remember the docstring of an attribute, of which napoleon takes all before a colon for its type."""
    if what in ("attribute", "data", "property"):
        written[name] = list(lines)


def put_back(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """After napoleon: what was there."""
    if name in written:
        lines[:] = written.pop(name)


def write_schemas(app: Sphinx, exception: Exception | None) -> None:
    """Write the JSON Schema of each kind of result to schema/KIND.json."""
    folder = Path(app.outdir) / "schema"
    folder.mkdir(exist_ok=True)
    for kind in kinds_with_schema():
        text = json.dumps(json_schema(kind), indent=1)
        (folder / f"{kind.replace(' ', '-')}.json").write_text(text + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Make the directives known."""
    app.connect("build-finished", write_schemas)
    # Napoleon's has 500.
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
    app.add_directive("becalm-table", Table)
