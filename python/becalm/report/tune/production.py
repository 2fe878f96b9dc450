"""The recommendation of a search as files for production: those that its own machine would get."""

from __future__ import annotations

from becalm.line import Line
from becalm.nouns.production import Origin, ProductionFile
from becalm.nouns.tune_verdict import TuneVerdict
from becalm.report.production.forms import files
from becalm.report.table import Table
from becalm.units import listed
from becalm.wording import tune as sentences
from becalm.wording.printable import one_line


def production_files(found: TuneVerdict) -> tuple[ProductionFile, ...]:
    """Return the files; none without a recommendation, or where its machine could not report the places."""
    if found.production is None or not found.settings:
        return ()
    programs = listed(found.programs)
    number = "" if found.study is None else f"-{found.study}"
    origin = Origin(
        name=Line(f"becalm{number or '-tuned'}"),
        title=one_line(f"settings {f'of study {found.study} ' if number else ''}for {programs}"),
        measured=tuple(one_line(each.sentence) for each in sentences.headline(found)),
        host=found.production.host or one_line(found.host),
        kernel=found.production.kernel,
        found_on=one_line(found.host),
    )
    return files(origin, found.production.places, None)


def left(found: TuneVerdict) -> Table:
    """Return the table of settings that no file holds, and what to do instead."""
    rows = () if found.production is None else tuple((each.knob, each.reason) for each in found.production.left)
    return Table("In none of these files", ("setting", "because, or instead"), rows)
