"""The verbs: one table, one public function or several for each, one module per verb. This is the API.

The command line lists the rows, and the façade exports their functions. The row of a verb that stores studies also
names the function that concludes a stored study when it is shown again. So a new verb needs a module here, one in
`cli/`, its report, and a row. Names of functions are "module:function"; they are imported when they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from becalm.errors import UsageError


class StudyKind(NamedTuple):
    """A kind of study that is stored.

    `conclude`: the function that makes a result of a Document. `read`: the function that reads a stored result; without
    it a study is concluded anew each time. `pool`: the function that makes a common result of the Documents of one
    measurement on several hosts.
    """

    conclude: str
    read: str = ""
    pool: str = ""


class Verb(NamedTuple):
    """A verb: its line in the help, its public functions by module of this folder, and its kind of study.

    `name` and `what` are empty for functions without a command.
    """

    name: str
    what: str
    functions: str = ""
    kind: StudyKind | None = None
    module: str = ""

    @property
    def homes(self) -> dict[str, str]:
        """The modules of the public functions, by the functions' names."""
        result = {}
        for word in (self.functions or self.name).split():
            module, _, name = word.rpartition(".")
            result[name] = f"becalm.verbs.{module or name}"
        return result


_SUMMARY = "becalm.study.conclude:summarise_stored"
_MEASURED = StudyKind(
    "becalm.study.conclude:conclude_stored",
    "becalm.results.compare:from_json",
    "becalm.study.stored_group:pool_verdicts",
)

TABLE = (
    Verb("run", "Measure one program: its time, and how much that varies.", kind=_MEASURED),
    Verb(
        "compare",
        "Compare programs: which is faster, and by how much.",
        functions="compare compare_stored.compare_stored compare_layouts.compare_layouts regions.compare_regions",
        kind=_MEASURED,
    ),
    Verb(
        "suite",
        "Rate a suite of programs against reference times.",
        kind=StudyKind("becalm.verbs.suite:conclude_stored"),
    ),
    Verb("load", "Generate a known load: processors, memory, disk, network.", "load.make_load"),
    Verb("doctor", "Report what this machine is, permits, and how noisy it is."),
    Verb(
        "tune",
        "Find settings that make a program steady or fast.",
        functions="tune tune.tune_cost tune_table.tune_table tune_programs.tune_programs tune_programs.own_factors",
        kind=StudyKind("becalm.study.tune_conclude:conclude_stored", "becalm.results.tune:from_json"),
    ),
    Verb("knobs", "List settings with their present values.", "settings.knobs", module="settings"),
    Verb(
        "apply",
        "Apply settings: for one command, or until reset.",
        "settings.apply settings_profile.profile settings_profile.check_profile settings_profile.save_profile",
        module="settings",
    ),
    Verb("reset", "Restore every setting that becalm has changed.", "settings.reset", module="settings"),
    Verb(
        "status", "Report which settings are applied, who applied them and when.", "settings.status", module="settings"
    ),
    Verb(
        "export-settings",
        "Write settings as files that hold without becalm.",
        "export_settings.export_settings export_settings.write_settings",
        module="export_settings",
    ),
    Verb(
        "install-service",
        "Have systemd restore settings after a power cut.",
        "settings_service.install_service settings_service.remove_service",
        module="settings",
    ),
    Verb(
        "install-sudoers",
        "Permit users to change settings with --sudo.",
        "sudoers.install_sudoers sudoers.remove_sudoers sudoers.show_sudoers",
        module="sudoers",
    ),
    Verb(
        "explain",
        "Report which load slowed stored runs.",
        "explain load_experiment",
        StudyKind(_SUMMARY),
    ),
    Verb(
        "watch",
        "Watch the machine, a process or one run live.",
        "watch_run.watch watch.watch_machine watch.watch_process",
        StudyKind("becalm.verbs.watch_run:conclude"),
    ),
    Verb(
        "survey",
        "Find machines that are slower or noisier than their peers.",
        kind=StudyKind(_SUMMARY, pool="becalm.verbs.survey:conclude_stored"),
    ),
    Verb("check", "Check in CI whether a change is slower than a limit."),
    Verb(
        "record",
        "Measure benchmarks at commits, for a project's history.",
        "record record_commits.record_commits",
        kind=StudyKind("becalm.verbs.record:conclude", "becalm.results.compare:from_json"),
    ),
    Verb("history", "Show which commits changed which benchmarks."),
    Verb("bisect", "Find the commit that made a program slower."),
    Verb(
        "clock",
        "Report how short a time this machine's timers can measure.",
        functions="clock clock.compare_clocks clock_headers.write_headers",
    ),
    Verb(
        "corun",
        "Measure how much co-running programs slow each other.",
        "corun",
        StudyKind("becalm.verbs.corun:conclude_stored", "becalm.results.corun:from_json"),
    ),
    Verb(
        "place",
        "Recommend which programs should share a chip.",
        "place place.export_placement place_running.apply_placement place_running.follow_placement "
        "place_simulate.simulate_placement place_simulate.train_placement",
        module="place",
    ),
    Verb(
        "sweetspots",
        "Find moments at which a running program moves cheaply.",
        "sweetspots sweetspots.simulate_sweetspots sweetspots_live.record_sweetspots",
    ),
    Verb(
        "migrate",
        "Move a running program to other CPUs, and back.",
        "migrate migrate.migrate_all migrate_account.account_migration migrate_account_live.account_command",
    ),
    Verb(
        "simulate",
        "Try a scheduler in simulation.",
        "simulate simulate_calibration.calibrate_simulation simulate_measured.measure_programs",
    ),
    Verb(
        "design",
        "Design an experiment, and fit its results.",
        "design design.fit_design design_swarm.design_swarm",
    ),
    Verb("list", "List studies and their results.", "listing.list_studies", module="records"),
    Verb(
        "show",
        "Show a study again, or files of timed regions.",
        "records.show records.show_together records.to_json regions.show_regions",
        module="records",
    ),
    Verb(
        "export",
        "Write a study as JSON or CSV, or for another tool.",
        "records.export records.export_series",
        module="records",
    ),
    Verb(
        "import",
        "Read results of other tools into the store.",
        "records.import_ records.import_file records.import_load regions.import_regions",
        StudyKind(_SUMMARY, "becalm.results.compare:from_json"),
        "records",
    ),
    Verb(
        "publish",
        "Write all studies as a web site, or serve it.",
        "publish publish_serve.serve_site",
    ),
    Verb("delete", "Delete studies.", module="records"),
    Verb(
        "store",
        "Check, back up or repair the store.",
        "store.check_store store.backup_store store.repair_store",
    ),
    Verb("mcp", "Let coding agents measure and tune, within limits.", "mcp.serve_mcp"),
    Verb(
        "host",
        "Name other machines, and check that they answer.",
        "host.add_host host.remove_host host.list_hosts host.check_host",
    ),
    Verb(
        "guest",
        "Prepare kernels for virtual machines.",
        "guest.prepare_guest guest.list_guests",
    ),
    Verb("", "", "data_frame.columns data_frame.data_frame"),
    Verb("", "", "version.version_report"),
)
"""The table of all verbs, in the order of the help."""

HEADINGS = {
    "Measure and compare": "run compare suite load",
    "Settings": "doctor tune knobs apply reset status export-settings install-service install-sudoers",
    "Why was it slow": "explain watch survey",
    "History and CI": "check record history bisect",
    "Timing, scheduling and placement": "clock corun place sweetspots migrate simulate design",
    "Studies and hosts": "list show export import publish delete store host guest mcp",
}
"""The headings of the help, with the verbs below each."""

FURTHER = {
    "layouts": StudyKind("becalm.study.layouts:conclude_stored", "becalm.results.layouts:from_json"),
    "regions": StudyKind("becalm.verbs.regions:conclude"),
}
"""The kinds of studies without a verb of their own name: `compare --layouts`, and imported files of other tools."""

KINDS = {verb.name: verb.kind for verb in TABLE if verb.kind is not None} | FURTHER
"""The kinds of studies by their names in the store."""


def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of stored studies."""
    return tuple(KINDS)


def kind_of(name: str) -> StudyKind:
    """Return the kind of a study. Raises UsageError for an unknown one."""
    if name not in KINDS:
        raise UsageError(f"This becalm knows no studies of the kind {name!r}. It knows: {', '.join(KINDS)}.")
    return KINDS[name]


def function(path: str) -> Callable[..., Any]:
    """Import and return the function that a row names."""
    module, _, name = path.partition(":")
    result: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return result


def show_in_notebooks() -> None:
    """Have results of verbs shown as HTML by notebooks, which ask them for it."""
    from becalm.nouns.result import Result  # The command starts without it.

    Result.html = staticmethod(_html)


def _html(result: Any) -> str:
    """Return a result as a fragment of a page."""
    from becalm.report.notebook import fragment

    return fragment(result)
