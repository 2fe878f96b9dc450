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
    from becalm.hosts.aliases import Known as Known
    from becalm.hosts.guest.kernel import Kernel as Kernel
    from becalm.hosts.protocol import Access as Access
    from becalm.hosts.protocol import Host as Host
    from becalm.load.explanation import Explanation as Explanation
    from becalm.load.live import Instant as Instant
    from becalm.load.run_report import Watched as Watched
    from becalm.methods import search_methods as search_methods
    from becalm.nouns.bisection import BisectResult as BisectResult
    from becalm.nouns.calibration import Calibration as Calibration
    from becalm.nouns.check import CheckResult as CheckResult
    from becalm.nouns.co_run_profile import CoRunProfile as CoRunProfile
    from becalm.nouns.configuration_choice import ConfigurationChoice as ConfigurationChoice
    from becalm.nouns.demand import Demand as Demand
    from becalm.nouns.demand import Made as Made
    from becalm.nouns.design import Design as Design
    from becalm.nouns.design_fit import DesignFit as DesignFit
    from becalm.nouns.diagnosis import Diagnosis as Diagnosis
    from becalm.nouns.factor import Factor as Factor
    from becalm.nouns.knob import Knob as Knob
    from becalm.nouns.knob import catalogue as catalogue
    from becalm.nouns.measured_programs import MeasuredProgram as MeasuredProgram
    from becalm.nouns.measured_programs import MeasuredPrograms as MeasuredPrograms
    from becalm.nouns.metric import Metric as Metric
    from becalm.nouns.metric import Response as Response
    from becalm.nouns.metric import Work as Work
    from becalm.nouns.multi_host import MultiHostVerdict as MultiHostVerdict
    from becalm.nouns.option import Option as Option
    from becalm.nouns.option import options as options
    from becalm.nouns.options.bisect import BisectOptions as BisectOptions
    from becalm.nouns.options.check import CheckOptions as CheckOptions
    from becalm.nouns.options.co_runs import CoRunOptions as CoRunOptions
    from becalm.nouns.options.compare_stored import CompareStoredOptions as CompareStoredOptions
    from becalm.nouns.options.design import DesignOptions as DesignOptions
    from becalm.nouns.options.design import FitOptions as FitOptions
    from becalm.nouns.options.design import SwarmDesignOptions as SwarmDesignOptions
    from becalm.nouns.options.load_experiment import LoadExperimentOptions as LoadExperimentOptions
    from becalm.nouns.options.measuring import ComparedPrograms as ComparedPrograms
    from becalm.nouns.options.measuring import CompareOptions as CompareOptions
    from becalm.nouns.options.measuring import RunOptions as RunOptions
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
    from becalm.nouns.production import ProductionSettings as ProductionSettings
    from becalm.nouns.progress import ProgressListener as ProgressListener
    from becalm.nouns.rating import Ratings as Ratings
    from becalm.nouns.recorded_commits import RecordedCommit as RecordedCommit
    from becalm.nouns.recorded_commits import RecordedCommits as RecordedCommits
    from becalm.nouns.region_overview import RegionOverview as RegionOverview
    from becalm.nouns.regions import RegionComparison as RegionComparison
    from becalm.nouns.regions import RegionReport as RegionReport
    from becalm.nouns.run import Run as Run
    from becalm.nouns.settings import Settings as Settings
    from becalm.nouns.settings_change import ApplyResult as ApplyResult
    from becalm.nouns.settings_change import Reset as Reset
    from becalm.nouns.settings_change import Status as Status
    from becalm.nouns.simulation import SimulatedRun as SimulatedRun
    from becalm.nouns.simulation import Simulation as Simulation
    from becalm.nouns.store_health import StoreBackup as StoreBackup
    from becalm.nouns.store_health import StoreHealth as StoreHealth
    from becalm.nouns.store_health import StoreRepair as StoreRepair
    from becalm.nouns.store_health import StudyHealth as StudyHealth
    from becalm.nouns.stored_comparison import StoredComparison as StoredComparison
    from becalm.nouns.study import Study as Study
    from becalm.nouns.survey import SurveyResult as SurveyResult
    from becalm.nouns.tables import built_in_kernels as built_in_kernels
    from becalm.nouns.timeline import Timeline as Timeline
    from becalm.nouns.timer import ClockComparison as ClockComparison
    from becalm.nouns.timer import ClockReport as ClockReport
    from becalm.nouns.timer import FoundPair as FoundPair
    from becalm.nouns.timer import TimerCell as TimerCell
    from becalm.nouns.tune_cost import TuneCost as TuneCost
    from becalm.nouns.tune_verdict import TuneVerdict as TuneVerdict
    from becalm.nouns.verdict import Difference as Difference
    from becalm.nouns.verdict import Finding as Finding
    from becalm.nouns.verdict import Summary as Summary
    from becalm.nouns.verdict import Verdict as Verdict
    from becalm.nouns.workload import CommandLine as CommandLine
    from becalm.nouns.workload import Workload as Workload
    from becalm.profiles import Profile as Profile
    from becalm.profiles import known_profiles as known_profiles
    from becalm.store import Store as Store
    from becalm.study.session_options import SessionOptions as SessionOptions
    from becalm.study.session_options import SeveralHosts as SeveralHosts
    from becalm.study.session_options import WithProfile as WithProfile
    from becalm.units import plain_number as plain_number
    from becalm.units import whole_number as whole_number
    from becalm.verbs import *  # noqa: F403
    from becalm.verbs import kinds as kinds
    from becalm.verbs.host import Checked as Checked
    from becalm.verbs.listing import Listing as Listing
    from becalm.verbs.load_experiment import Campaign as Campaign
    from becalm.verbs.records import Imported as Imported
    from becalm.verbs.records import Shown as Shown
    from becalm.verbs.watch import Ending as Ending

_VALUES = {
    "becalm.errors": "BecalmError MachineError RefusedError StoreError UnsettledError UsageError WorkloadError",
    "becalm.files.tables": "read_toml unknown_name",
    "becalm.files.written": "overwriting target writing",
    "becalm.hosts.aliases": "Known",
    "becalm.hosts.guest.kernel": "Kernel",
    "becalm.hosts.protocol": "Access Host",
    "becalm.nouns.bisection": "BisectResult",
    "becalm.nouns.calibration": "Calibration",
    "becalm.nouns.co_run_profile": "CoRunProfile",
    "becalm.nouns.configuration_choice": "ConfigurationChoice",
    "becalm.nouns.measured_programs": "MeasuredProgram MeasuredPrograms",
    "becalm.nouns.demand": "Demand Made",
    "becalm.load.explanation": "Explanation",
    "becalm.load.live": "Instant",
    "becalm.load.run_report": "Watched",
    "becalm.methods": "search_methods",
    "becalm.nouns.check": "CheckResult",
    "becalm.nouns.design": "Design",
    "becalm.nouns.design_fit": "DesignFit",
    "becalm.nouns.diagnosis": "Diagnosis",
    "becalm.nouns.factor": "Factor",
    "becalm.nouns.knob": "Knob catalogue",
    "becalm.nouns.metric": "Metric Response Work",
    "becalm.nouns.multi_host": "MultiHostVerdict",
    "becalm.nouns.option": "Option options",
    "becalm.nouns.options.bisect": "BisectOptions",
    "becalm.nouns.options.check": "CheckOptions",
    "becalm.nouns.options.co_runs": "CoRunOptions",
    "becalm.nouns.options.compare_stored": "CompareStoredOptions",
    "becalm.nouns.options.design": "DesignOptions FitOptions SwarmDesignOptions",
    "becalm.nouns.options.load_experiment": "LoadExperimentOptions",
    "becalm.nouns.options.measuring": "CompareOptions ComparedPrograms RunOptions",
    "becalm.nouns.options.record": "HistoryPlaceOptions RangeOptions RecordOptions",
    "becalm.nouns.recorded_commits": "RecordedCommit RecordedCommits",
    "becalm.nouns.options.suite": "SuiteOptions SuiteParts",
    "becalm.nouns.options.survey": "SurveyOptions",
    "becalm.nouns.options.tune": "TuneOptions",
    "becalm.nouns.options.tune_table": "TuneTableOptions",
    "becalm.nouns.options.watch": "WatchOptions WatchReference",
    "becalm.nouns.production": "ProductionSettings",
    "becalm.nouns.progress": "ProgressListener",
    "becalm.nouns.rating": "Ratings",
    "becalm.nouns.region_overview": "RegionOverview",
    "becalm.nouns.regions": "RegionComparison RegionReport",
    "becalm.nouns.run": "Run",
    "becalm.nouns.settings": "Settings",
    "becalm.nouns.settings_change": "ApplyResult Reset Status",
    "becalm.nouns.simulation": "SimulatedRun Simulation",
    "becalm.nouns.store_health": "StoreBackup StoreHealth StoreRepair StudyHealth",
    "becalm.nouns.stored_comparison": "StoredComparison",
    "becalm.nouns.study": "Study",
    "becalm.nouns.survey": "SurveyResult",
    "becalm.nouns.tables": "built_in_kernels",
    "becalm.nouns.timeline": "Timeline",
    "becalm.nouns.timer": "ClockComparison ClockReport FoundPair TimerCell",
    "becalm.nouns.tune_cost": "TuneCost",
    "becalm.nouns.tune_verdict": "TuneVerdict",
    "becalm.nouns.verdict": "Difference Finding Summary Verdict",
    "becalm.nouns.workload": "CommandLine Workload",
    "becalm.profiles": "Profile known_profiles",
    "becalm.store": "Store",
    "becalm.study.session_options": "SessionOptions SeveralHosts WithProfile",
    "becalm.units": "plain_number whole_number",
    "becalm.verbs": "kinds",
    "becalm.verbs.host": "Checked",
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

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *sorted(_homes())]
