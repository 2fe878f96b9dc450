"""`becalm design`: experiments to be run by hand or by another program, and the analysis of a completed worksheet.

It needs no machine: designs are in `becalm.designs`, surfaces in `becalm.surfaces`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from msgspec.structs import replace

from becalm.analysis.design_fit import fit
from becalm.designs.assemble import assemble
from becalm.designs.sheet import read
from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.nouns.factor import Factor
from becalm.nouns.finding import Finding
from becalm.nouns.option import parse_keywords, refuse_unknown
from becalm.nouns.options.design import DesignOptions, FitOptions
from becalm.nouns.signature import takes
from becalm.results.design import Design
from becalm.results.design_fit import DesignFit
from becalm.wording.design import designed
from becalm.wording.findings import finding

if TYPE_CHECKING:
    from becalm.verbs.keywords import DesignKeywords, FitDesignKeywords

MOST_BYTES = 16 << 20
"""The largest size of a worksheet in bytes: a thousand times that of a large experiment."""


@takes(DesignOptions)
def design(kind: str, factors: Sequence[str | Factor], **keywords: Unpack[DesignKeywords]) -> Design:
    """Return a design of experiments: the runs to make, and their order.

    Arguments:
        kind: "factorial", "plackett-burman", "central" (central composite) or "box-behnken".
        factors: the varied quantities, as values or as text: "time=80..90min", "slice=0.1..100ms:log",
            "workers=1..64:log:whole", "policy=other,batch".

    Returns a Design; its `csv` is a file for a spreadsheet, with empty cells for the measured values.
    Raises UsageError for factors or options that this kind of design does not allow.
    """
    refuse_unknown(keywords, DesignOptions)
    options = DesignOptions(**parse_keywords(DesignOptions, keywords))
    chosen = [factor if isinstance(factor, Factor) else Factor.parse(factor) for factor in factors]
    seed = options.seed if options.seed is not None else int(np.random.default_rng().integers(2**31))
    assembled = assemble(kind, chosen, options, seed)
    assembled = replace(assembled, findings=tuple(_outside(assembled)))
    return replace(assembled, sentence=designed(assembled))


@takes(FitOptions)
def fit_design(file: str | Path, **keywords: Unpack[FitDesignKeywords]) -> DesignFit:
    """Fit a completed design: the model that fits each response, its tests, and the best place.

    Arguments:
        file: comma-separated values, as `design` writes them or any with the factors' ranges in the heads of their
            columns (docs/how-to/design.md).

    Raises UsageError for a file that cannot be read, and for data that no model can be fitted to.
    """
    refuse_unknown(keywords, FitOptions)
    options = FitOptions(**parse_keywords(FitOptions, keywords))
    ranges = [Factor.parse(factor) for factor in options.factors]
    sheet = read(content(Path(file)), str(file), ranges, options.responses)
    return fit(sheet, str(file), options)


def _outside(planned: Design) -> Iterator[Finding]:
    """Yield the finding about axial points beyond the ranges, with how far they go."""
    ends = []
    for index, factor in enumerate(planned.factors):
        if factor.categorical:
            continue
        places = {run.coded[index]: run.levels[index] for run in planned.runs}
        if max(places) > 1 + 1e-9 or min(places) < -1 - 1e-9:
            low, high = places[min(places)], places[max(places)]
            ends.append(f"{factor.name} goes from {factor.worded(low)} to {factor.worded(high)}")
    if ends:
        yield finding("outside_range", {"ends": tuple(ends)})


def content(path: Path) -> str:
    """Return the text of a worksheet. Raises UsageError for a file that is too large or not text."""
    try:
        # Older spreadsheets write Windows-1252, which has the same digits and commas.
        return read_text(path, most=MOST_BYTES, legacy=True)
    except UsageError as error:
        raise UsageError(
            f"{error} A worksheet is text: save it as comma-separated values (CSV), not as a workbook."
        ) from None
