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
    from becalm.errors import BecalmError as BecalmError
    from becalm.errors import MachineError as MachineError
    from becalm.errors import RefusedError as RefusedError
    from becalm.errors import StoreError as StoreError
    from becalm.errors import UnsettledError as UnsettledError
    from becalm.errors import UsageError as UsageError
    from becalm.errors import WorkloadError as WorkloadError
    from becalm.files.tables import read_toml as read_toml
    from becalm.files.tables import unknown_name as unknown_name
    from becalm.files.written import overwriting as overwriting
    from becalm.files.written import target as target
    from becalm.files.written import writing as writing
    from becalm.hosts.aliases import NamedMachine as NamedMachine
    from becalm.hosts.guest.kernel import Kernel as Kernel
    from becalm.hosts.protocol import Access as Access
    from becalm.hosts.protocol import Host as Host
    from becalm.load.explanation import Explanation as Explanation
    from becalm.load.live import Instant as Instant
    from becalm.load.run_report import Watched as Watched
    from becalm.methods import search_methods as search_methods
    from becalm.nouns.demand import Demand as Demand
    from becalm.nouns.demand import LoadResult as LoadResult
    from becalm.nouns.factor import Factor as Factor
    from becalm.nouns.finding import Finding as Finding
    from becalm.nouns.knob import Knob as Knob
    from becalm.nouns.knob import catalogue as catalogue
    from becalm.nouns.metric import Metric as Metric
    from becalm.nouns.metric import Response as Response
    from becalm.nouns.metric import Work as Work
    from becalm.nouns.option import Option as Option
    from becalm.nouns.option import options as options
    from becalm.nouns.options.bisect import BisectOptions as BisectOptions
    from becalm.nouns.options.check import CheckOptions as CheckOptions
    from becalm.nouns.options.compare_stored import CompareStoredOptions as CompareStoredOptions
    from becalm.nouns.options.corun import CoRunOptions as CoRunOptions
    from becalm.nouns.options.design import DesignOptions as DesignOptions
    from becalm.nouns.options.design import FitOptions as FitOptions
    from becalm.nouns.options.design import SwarmDesignOptions as SwarmDesignOptions
    from becalm.nouns.options.layouts import LayoutOptions as LayoutOptions
    from becalm.nouns.options.load_experiment import LoadExperimentOptions as LoadExperimentOptions
    from becalm.nouns.options.mcp import McpOptions as McpOptions
    from becalm.nouns.options.measuring import ComparedPrograms as ComparedPrograms
    from becalm.nouns.options.measuring import CompareOptions as CompareOptions
    from becalm.nouns.options.measuring import RunOptions as RunOptions
    from becalm.nouns.options.place import PlaceOptions as PlaceOptions
    from becalm.nouns.options.record import HistoryPlaceOptions as HistoryPlaceOptions
    from becalm.nouns.options.record import RangeOptions as RangeOptions
    from becalm.nouns.options.record import RecordOptions as RecordOptions
    from becalm.nouns.options.suite import SuiteOptions as SuiteOptions
    from becalm.nouns.options.suite import SuiteParts as SuiteParts
    from becalm.nouns.options.survey import SurveyOptions as SurveyOptions
    from becalm.nouns.options.tune import TuneOptions as TuneOptions
    from becalm.nouns.options.tune_table import TuneTableOptions as TuneTableOptions
    from becalm.nouns.options.watch import WatchOptions as WatchOptions
    from becalm.nouns.options.watch import WatchReference as WatchReference
    from becalm.nouns.run import Run as Run
    from becalm.nouns.settings import Settings as Settings
    from becalm.nouns.study import Study as Study
    from becalm.nouns.tables import built_in_kernels as built_in_kernels
    from becalm.nouns.workload import CommandLine as CommandLine
    from becalm.nouns.workload import Workload as Workload
    from becalm.profiles import Profile as Profile
    from becalm.profiles import known_profiles as known_profiles
    from becalm.report.json_schema import json_schema as json_schema
    from becalm.results.bisect import BisectResult as BisectResult
    from becalm.results.check import CheckResult as CheckResult
    from becalm.results.clock import ClockComparison as ClockComparison
    from becalm.results.clock import ClockReport as ClockReport
    from becalm.results.clock import FoundPair as FoundPair
    from becalm.results.clock import TimerCell as TimerCell
    from becalm.results.compare import Difference as Difference
    from becalm.results.compare import Summary as Summary
    from becalm.results.compare import Verdict as Verdict
    from becalm.results.compare_stored import StoredComparison as StoredComparison
    from becalm.results.corun import CoRunProfile as CoRunProfile
    from becalm.results.design import Design as Design
    from becalm.results.design_fit import DesignFit as DesignFit
    from becalm.results.doctor import Diagnosis as Diagnosis
    from becalm.results.export_settings import ProductionSettings as ProductionSettings
    from becalm.results.history import Timeline as Timeline
    from becalm.results.layouts import LayoutComparison as LayoutComparison
    from becalm.results.multi_host import MultiHostVerdict as MultiHostVerdict
    from becalm.results.progress import ProgressListener as ProgressListener
    from becalm.results.publish import Published as Published
    from becalm.results.publish import PublishedStudy as PublishedStudy
    from becalm.results.record_commits import RecordedCommit as RecordedCommit
    from becalm.results.record_commits import RecordedCommits as RecordedCommits
    from becalm.results.regions import RegionComparison as RegionComparison
    from becalm.results.regions import RegionReport as RegionReport
    from becalm.results.regions_overview import RegionOverview as RegionOverview
    from becalm.results.settings import ApplyResult as ApplyResult
    from becalm.results.settings import Reset as Reset
    from becalm.results.settings import Status as Status
    from becalm.results.simulate import SimulatedRun as SimulatedRun
    from becalm.results.simulate import Simulation as Simulation
    from becalm.results.simulate_calibration import Calibration as Calibration
    from becalm.results.simulate_measured import MeasuredProgram as MeasuredProgram
    from becalm.results.simulate_measured import MeasuredPrograms as MeasuredPrograms
    from becalm.results.store import StoreBackup as StoreBackup
    from becalm.results.store import StoreHealth as StoreHealth
    from becalm.results.store import StoreRepair as StoreRepair
    from becalm.results.store import StudyHealth as StudyHealth
    from becalm.results.suite import Ratings as Ratings
    from becalm.results.survey import SurveyResult as SurveyResult
    from becalm.results.tune import TuneVerdict as TuneVerdict
    from becalm.results.tune_cost import TuneCost as TuneCost
    from becalm.results.tune_table import ConfigurationChoice as ConfigurationChoice
    from becalm.store import Store as Store
    from becalm.study.session_options import SessionOptions as SessionOptions
    from becalm.study.session_options import SeveralHosts as SeveralHosts
    from becalm.study.session_options import WithProfile as WithProfile
    from becalm.units import plain_number as plain_number
    from becalm.units import whole_number as whole_number
    from becalm.verbs import *  # noqa: F403
    from becalm.verbs import kinds as kinds
    from becalm.verbs.host import HostCheck as HostCheck
    from becalm.verbs.listing import Listing as Listing
    from becalm.verbs.load_experiment import Campaign as Campaign
    from becalm.verbs.records import Imported as Imported
    from becalm.verbs.records import Shown as Shown
    from becalm.verbs.watch import Ending as Ending

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
"""Values that the functions take and give, by module; `becalm.verbs` has the table of the functions."""


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
