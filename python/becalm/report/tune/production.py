"""The recommendation of a search as files for production, for the machine that was measured."""

from __future__ import annotations

from becalm.line import Line
from becalm.report.export_settings.forms import files
from becalm.report.table import Table
from becalm.results.export_settings import Origin, ProductionFile
from becalm.results.tune import TuneVerdict
from becalm.units import join_names
from becalm.wording import tune as sentences
from becalm.wording.printable import one_line


def production_files(verdict: TuneVerdict) -> tuple[ProductionFile, ...]:
    """Return the files; nothing without a recommendation, or where the machine could not report the places."""
    if verdict.production is None or not verdict.settings:
        return ()
    programs = join_names(verdict.programs)
    number = "" if verdict.study is None else f"-{verdict.study}"
    origin = Origin(
        name=Line(f"becalm{number or '-tuned'}"),
        title=one_line(f"settings {f'of study {verdict.study} ' if number else ''}for {programs}"),
        measured=tuple(one_line(comparison.sentence) for comparison in sentences.headline(verdict)),
        host=verdict.production.host or one_line(verdict.host),
        kernel=verdict.production.kernel,
        found_on=one_line(verdict.host),
    )
    return files(origin, verdict.production.places, None)


def left(verdict: TuneVerdict) -> Table:
    """Return the table of settings that no file holds, with advice."""
    rows = (
        ()
        if verdict.production is None
        else tuple((setting.knob, setting.reason) for setting in verdict.production.left)
    )
    return Table("In none of these files", ("setting", "because, or instead"), rows)
