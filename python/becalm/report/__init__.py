"""The reports of results: terminal, HTML pages, Markdown and file formats. REPORTS is the table of them."""

from __future__ import annotations

import importlib
from types import ModuleType

REPORTS = {
    "becalm.results.bisect.BisectResult": "becalm.report.bisect",
    "becalm.results.check.CheckResult": "becalm.report.check",
    "becalm.results.clock.ClockReport": "becalm.report.clock.report",
    "becalm.results.clock.ClockComparison": "becalm.report.clock.comparison",
    "becalm.results.compare.Verdict": "becalm.report.compare",
    "becalm.results.compare_stored.StoredComparison": "becalm.report.compare_stored",
    "becalm.results.corun.CoRunProfile": "becalm.report.corun",
    "becalm.results.design.Design": "becalm.report.design.planned",
    "becalm.results.design_fit.DesignFit": "becalm.report.design.report",
    "becalm.results.doctor.Diagnosis": "becalm.report.doctor",
    "becalm.results.export_settings.ProductionSettings": "becalm.report.export_settings.report",
    "becalm.results.history.Timeline": "becalm.report.history.report",
    "becalm.results.layouts.LayoutComparison": "becalm.report.layouts",
    "becalm.results.multi_host.MultiHostVerdict": "becalm.report.multi_host.report",
    "becalm.results.place.PlacementAdvice": "becalm.report.place",
    "becalm.results.record_commits.RecordedCommits": "becalm.report.record_commits",
    "becalm.results.regions.RegionReport": "becalm.report.regions.report",
    "becalm.results.regions.RegionComparison": "becalm.report.regions.comparison",
    "becalm.results.regions_overview.RegionOverview": "becalm.report.regions.overview",
    "becalm.results.simulate.Simulation": "becalm.report.simulate",
    "becalm.results.suite.Ratings": "becalm.report.suite",
    "becalm.results.survey.SurveyResult": "becalm.report.survey",
    "becalm.results.tune.TuneVerdict": "becalm.report.tune.report",
    "becalm.results.tune_table.ConfigurationChoice": "becalm.report.tune_table",
    "becalm.load.explanation.Explanation": "becalm.report.explain.report",
    "becalm.load.run_report.Watched": "becalm.report.watch.report",
    "becalm.migration.account.Accounted": "becalm.report.migrate_account",
    "becalm.migration.live_account.LiveAccounted": "becalm.report.migrate_account_live",
    "becalm.migration.sweetspots.Spotted": "becalm.report.sweetspots",
}
"""The module that draws each class of results, loaded when one is drawn. One more report is a file and a row."""


def _name(result: object) -> str:
    return f"{type(result).__module__}.{type(result).__qualname__}"


def has_report(result: object) -> bool:
    """Return whether the table has a report for a value."""
    return _name(result) in REPORTS


def report_of(result: object) -> ModuleType:
    """Return the module that draws a result. Raises KeyError for one without a report."""
    return importlib.import_module(REPORTS[_name(result)])
