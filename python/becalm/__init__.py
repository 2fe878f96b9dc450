"""becalm: measure and compare programs on Linux so that the answer can be trusted.

    import becalm
    verdict = becalm.compare(["gzip -1 -c FILE", "gzip -9 -c FILE"], budget="10s")
    print(verdict.sentence)

The command line calls these functions and nothing else. Names are loaded on first use, so that importing becalm costs
nothing.
"""

from __future__ import annotations

from becalm import _version

__version__ = _version.VERSION

TYPE_CHECKING = False
"""The constant of type checkers, without `typing`: until that is imported, the command cannot handle Ctrl-C."""

if TYPE_CHECKING:
    from becalm.public_names import *  # noqa: F403

_VALUES = {
    "becalm.errors": "BecalmError MachineError RefusedError StoreError UnsettledError UsageError WorkloadError",
    "becalm.files.tables": "read_toml unknown_name",
    "becalm.files.written": "overwriting target writing",
    "becalm.hosts.aliases": "NamedMachine",
    "becalm.hosts.guest.kernel": "Kernel",
    "becalm.hosts.protocol": "Access Host",
    "becalm.report.json_schema": "json_schema",
    "becalm.results.bisect": "BisectResult",
    "becalm.results.simulate_calibration": "Calibration",
    "becalm.results.corun": "CoRunProfile",
    "becalm.results.tune_table": "ConfigurationChoice",
    "becalm.results.simulate_measured": "MeasuredProgram MeasuredPrograms",
    "becalm.nouns.demand": "Demand LoadResult",
    "becalm.load.explanation": "Explanation",
    "becalm.load.live": "Instant",
    "becalm.load.run_report": "Watched",
    "becalm.methods": "search_methods",
    "becalm.results.check": "CheckResult",
    "becalm.results.design": "Design",
    "becalm.results.design_fit": "DesignFit",
    "becalm.results.doctor": "Diagnosis",
    "becalm.nouns.factor": "Factor",
    "becalm.nouns.knob": "Knob catalogue",
    "becalm.nouns.metric": "Metric Response Work",
    "becalm.results.layouts": "LayoutComparison",
    "becalm.results.multi_host": "MultiHostVerdict",
    "becalm.nouns.option": "Option options",
    "becalm.nouns.options.bisect": "BisectOptions",
    "becalm.nouns.options.check": "CheckOptions",
    "becalm.nouns.options.corun": "CoRunOptions",
    "becalm.nouns.options.compare_stored": "CompareStoredOptions",
    "becalm.nouns.options.design": "DesignOptions FitOptions SwarmDesignOptions",
    "becalm.nouns.options.layouts": "LayoutOptions",
    "becalm.nouns.options.load_experiment": "LoadExperimentOptions",
    "becalm.nouns.options.mcp": "McpOptions",
    "becalm.nouns.options.measuring": "CompareOptions ComparedPrograms RunOptions",
    "becalm.nouns.options.place": "PlaceOptions",
    "becalm.nouns.options.record": "HistoryPlaceOptions RangeOptions RecordOptions",
    "becalm.results.publish": "Published PublishedStudy",
    "becalm.results.record_commits": "RecordedCommit RecordedCommits",
    "becalm.nouns.options.suite": "SuiteOptions SuiteParts",
    "becalm.nouns.options.survey": "SurveyOptions",
    "becalm.nouns.options.tune": "TuneOptions",
    "becalm.nouns.options.tune_table": "TuneTableOptions",
    "becalm.nouns.options.watch": "WatchOptions WatchReference",
    "becalm.results.export_settings": "ProductionSettings",
    "becalm.results.progress": "ProgressListener",
    "becalm.results.suite": "Ratings",
    "becalm.results.regions_overview": "RegionOverview",
    "becalm.results.regions": "RegionComparison RegionReport",
    "becalm.nouns.run": "Run",
    "becalm.nouns.settings": "Settings",
    "becalm.results.settings": "ApplyResult Reset Status",
    "becalm.results.simulate": "SimulatedRun Simulation",
    "becalm.results.store": "StoreBackup StoreHealth StoreRepair StudyHealth",
    "becalm.results.compare_stored": "StoredComparison",
    "becalm.nouns.study": "Study",
    "becalm.results.survey": "SurveyResult",
    "becalm.nouns.tables": "built_in_kernels",
    "becalm.results.history": "Timeline",
    "becalm.results.clock": "ClockComparison ClockReport FoundPair TimerCell",
    "becalm.results.tune_cost": "TuneCost",
    "becalm.results.tune": "TuneVerdict",
    "becalm.nouns.finding": "Finding",
    "becalm.results.compare": "Difference Summary Verdict",
    "becalm.nouns.workload": "CommandLine Workload",
    "becalm.profiles": "Profile known_profiles",
    "becalm.store": "Store",
    "becalm.study.session_options": "SessionOptions SeveralHosts WithProfile",
    "becalm.units": "plain_number whole_number",
    "becalm.verbs": "kinds",
    "becalm.verbs.host": "HostCheck",
    "becalm.verbs.load_experiment": "Campaign",
    "becalm.verbs.listing": "Listing",
    "becalm.verbs.records": "Imported Shown",
    "becalm.verbs.watch": "Ending",
}
"""Values that the functions take and give, by module; `becalm.verbs` has the table of the functions. From these
two tools/type_stubs.py makes the list for type checkers."""


def _homes() -> dict[str, str]:
    """Return the module of each public name."""
    from becalm.verbs import TABLE

    values = {name: module for module, names in _VALUES.items() for name in names.split()}
    return values | {name: module for verb in TABLE for name, module in verb.homes.items()}


__all__: list[str]
"""All public names, from the tables, when they are asked for."""


def __getattr__(name: str) -> object:
    if name == "__all__":
        return ["__version__", *sorted(_homes())]
    if name.startswith("__") or (module := _homes().get(name)) is None:
        raise AttributeError(f"module 'becalm' has no attribute {name!r}")
    import importlib

    from becalm.verbs import show_in_notebooks

    show_in_notebooks()
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *sorted(_homes())]
