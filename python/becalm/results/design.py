"""The result Design: the runs of an experiment in their order, and the effects that the design can and cannot separate.

`becalm.designs.assemble` makes it. In its file for a spreadsheet, the head of a factor's column is the factor as people
write it (`time=80..90min`), so that the file explains its own numbers; `becalm.designs.sheet` reads it.
"""

from __future__ import annotations

import msgspec

from becalm.files.cells import Cell, table_text
from becalm.nouns.factor import DIGITS, Factor, Level
from becalm.nouns.finding import Finding
from becalm.nouns.result import Result

PLACES = ("run", "standard", "block", "point")
"""The columns with the position of a run."""


class DesignRun(msgspec.Struct, frozen=True):
    """A run of a design.

    - `run`: its place in the order of making them, from 1; `standard`: its place in standard order
    - `block`: from 1
    - `point`: cube, axial, edge or centre
    - `coded`: the place of each factor in coded units; `levels`: the values to set
    """

    run: int
    standard: int
    block: int
    point: str
    coded: tuple[float, ...]
    levels: tuple[Level, ...]


class Design(Result, frozen=True):
    """A design of a `family` (factorial, plackett-burman, central, box-behnken). `seed` None: in standard order.
    `alpha`: distance of the axial points from the centre, in half edges of the cube.

    A two-level part has, in letters (`letters` names their factors):

    - `generators`, and the `defining` relation
    - `aliases`: among factors and interactions of two
    - `resolution`: None where nothing is aliased
    - `confounded`: effects that are confounded with blocks
    - `folded`: factors whose signs the second block reverses (its halves have the generators, both together none)
    - `partial`: for a two-level design that is not a regular fraction, the largest part of an interaction of two
      factors in the effect of another
    """

    KIND = "design"

    family: str
    factors: tuple[Factor, ...]
    runs: tuple[DesignRun, ...]
    blocks: int
    responses: tuple[str, ...]
    seed: int | None = None
    alpha: float | None = None
    letters: dict[str, str] | None = None
    generators: tuple[str, ...] = ()
    defining: tuple[str, ...] = ()
    resolution: int | None = None
    aliases: tuple[tuple[str, ...], ...] = ()
    confounded: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    partial: float | None = None
    findings: tuple[Finding, ...] = ()
    sentence: str = ""

    @property
    def csv(self) -> str:
        """The design as a file for a spreadsheet, with empty cells for the responses."""
        return self.to_csv()

    def to_csv(self, *, raw: bool = False) -> str:
        """Return `csv`; with `raw`, levels that a spreadsheet reads as formulas stay as they are."""
        return text(self, raw=raw)


def text(design: Design, *, raw: bool = False) -> str:
    """Return the design as CSV with empty cells for the responses; `raw`: as for `to_csv`."""
    rows: list[list[Cell]] = [[*PLACES, *(factor.spelled for factor in design.factors), *design.responses]]
    for run in design.runs:
        levels = [level if isinstance(level, str) else f"{level:.{DIGITS}g}" for level in run.levels]
        rows.append([run.run, run.standard, run.block, run.point, *levels, *("" for _ in design.responses)])
    return table_text(rows, raw=raw)
