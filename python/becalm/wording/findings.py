"""Findings in words: a table with a row for each kind of finding that an analysis may report.

An analysis calls `finding(kind, numbers, program)`; only this table turns it into a sentence. A row explains its kind
and makes the sentence from the numbers of the finding. The numbers are part of every JSON form, so that a program can
act on a finding without reading its sentence (docs/reference/json.md).

Public: FindingRow, TABLE, finding, reworded, sentence.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from becalm.nouns.finding import Finding

Numbers = Mapping[str, Any]


class _Later:
    """The sentences of a module that is imported when one of them is needed: most belong to other verbs than the one
    that runs, and importing them all would delay a short comparison."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[[str, Numbers], str]:
        def call(program: str, numbers: Numbers) -> str:
            sentence: str = getattr(importlib.import_module(self._module), name)(program, numbers)
            return sentence

        return call


culprits = _Later("becalm.wording.culprits")
counters = _Later("becalm.wording.counter_findings")
design = _Later("becalm.wording.design_findings")
history = _Later("becalm.wording.history")
imported = _Later("becalm.wording.left_out")
load = _Later("becalm.wording.explain_findings")
region = _Later("becalm.wording.regions_findings")
series = _Later("becalm.wording.series_findings")
study = _Later("becalm.wording.study_findings")
schedule = _Later("becalm.wording.schedule_findings")
tune = _Later("becalm.wording.tune_findings")

_TESTED = ("helped", "reduction", "reduction_low", "at_most")
"""Numbers of the finding "processor" on the effect of settings in fresh runs, where any were measured."""

_SOURCE = ("cpu_share", "cpu_share_low", "cpu_share_high", "spread", "floor", "runs", "runs_for_one_percent")
"""Numbers of the findings on the source of variance (`analysis.variance_source`)."""


class FindingRow(msgspec.Struct, frozen=True):
    """A kind of finding. `sentence`: a function of the program's name and the numbers; `meaning`, `numbers`: for the
    documentation."""

    kind: str
    meaning: str
    numbers: tuple[str, ...]
    sentence: Callable[[str, Numbers], str]


TABLE: tuple[FindingRow, ...] = (
    FindingRow("short", "runs so short that they are mostly start-up", ("median_ns",), series.short),
    FindingRow("warmup", "the first runs took longer than the rest", ("drop", "excess"), series.warmup),
    FindingRow("drift", "runs became slower or faster over time", ("change", "p_value"), series.drift),
    FindingRow(
        "levels",
        "the level of the times still changes in the last sixth of the runs",
        ("run", "runs", "change", "spread", "levels"),
        series.levels,
    ),
    FindingRow("period", "times rise and fall periodically", ("period", "p_value"), series.period),
    FindingRow(
        "alongside",
        "programs ran at the same time, and how much that slowed them (null where unknown)",
        (
            *("schedule", "cpus", "at_once", "turns", "slowdowns", "slowdown_error", "change", "change_error"),
            *("most_cpus", "starts", "near"),
        ),
        schedule.alongside,
    ),
    FindingRow(
        "confirmed_alongside",
        "settings were confirmed in pairs that ran at the same time",
        ("cpus", "starts", "near"),
        schedule.confirmed_alongside,
    ),
    FindingRow("turns", "programs took turns, and why", ("reason",), schedule.turns),
    FindingRow(
        "bimodal",
        "times have two modes",
        ("low_ns", "high_ns", "low_share", "p_value"),
        series.bimodal,
    ),
    FindingRow(
        "outliers",
        "outliers, with the causes in their records",
        ("count", "runs", "seqs", "changes", "causes", "cause_ns", "reasons"),
        series.outliers,
    ),
    FindingRow("counted", "what counted the instructions", ("callgrind",), counters.counted),
    FindingRow(
        "instructions",
        "whether a program executes more instructions than the reference, or slower ones",
        ("reference", "instructions", "rate", "confidence", "pairs"),
        counters.instructions,
    ),
    FindingRow("emulated", "times of a host that does not have its own processor", ("reason",), study.emulated),
    FindingRow("settings", "settings that were applied during the runs", ("settings", "standing"), study.settings),
    FindingRow(
        "equal_layouts",
        "seeds of `compare --layouts` that gave the same program as another one",
        ("seeds", "layouts"),
        study.equal_layouts,
    ),
    FindingRow("neighbours", "programs that ran alongside", ("neighbours", "cpus"), study.neighbours),
    FindingRow(
        "other_machine",
        "sessions of another machine, kernel or settings, joined with no others",
        ("machine", "kernel", "commit", "needed"),
        history.other_machine,
    ),
    FindingRow("other_unit", "a benchmark was recorded in several units", ("units",), history.other_unit),
    FindingRow("lost_commits", "commits that the repository does not have", ("commits",), history.lost_commits),
    FindingRow(
        "stray_sessions",
        "single values far from those of the sessions around them, which are not changes",
        ("values", "of"),
        history.stray_sessions,
    ),
    FindingRow("gone", "a benchmark is not recorded any more", ("commit", "new"), history.gone),
    FindingRow(
        "clock_stepped", "a machine's clock went back between sessions", ("times", "order"), history.clock_stepped
    ),
    FindingRow("uncommitted", "sessions of working trees with changes", ("sessions",), history.uncommitted),
    FindingRow(
        "left_out",
        "entries of an imported file that are not values, counted by reason",
        ("reason", "entries", "of"),
        imported.left_out,
    ),
    FindingRow(
        "local_time",
        "dates of an imported file have no time zone, and were read as local time",
        ("first", "offset", "of"),
        imported.local_time,
    ),
    FindingRow(
        "processors",
        "benchmarks of Go that ran on different numbers of processors",
        ("old", "new", "benchmarks"),
        imported.processors,
    ),
    FindingRow("left_behind", "descendants outlived their program", ("runs",), study.left_behind),
    FindingRow(
        "failure",
        "a run failed, or runs under some settings did",
        ("seq", "status", "outcome", "wall_ns", "warmup", "stderr", "done"),
        study.failure,
    ),
    FindingRow(
        "contaminated",
        "rounds during which other load exceeded a limit",
        ("rounds", "complete", "rule", "limits", "dropped", "measures"),
        load.contaminated,
    ),
    FindingRow(
        "contamination_unknown",
        "rounds for which it is not known whether a limit was exceeded",
        ("rounds", "complete", "rule", "dropped", "measures"),
        load.contamination_unknown,
    ),
    FindingRow(
        "waits",
        "what the runs waited for: others on this machine by name, the program itself, a quota, the hypervisor",
        (
            "runs",
            "wall_ns",
            "lost_ns",
            "others_ns",
            "own_ns",
            "quota_ns",
            "hypervisor_ns",
            "unknown_ns",
            "culprits",
            "suspects",
            "cpus",
            "quota_cpus",
            "quotas",
            "several",
            "scope",
            "blocks",
        ),
        culprits.waiting,
    ),
    FindingRow(
        "disk_waits",
        "what the runs waited for disks, and who moved the larger part of the bytes meanwhile",
        (
            "runs",
            "wall_ns",
            "lost_ns",
            "own_bytes",
            "disk_bytes",
            "culprits",
            "suspects",
            "unread",
            "disks",
            "blocks",
        ),
        culprits.disk_waiting,
    ),
    FindingRow(
        "memory_waits",
        "how long the runs waited for memory, and whose memory grew meanwhile",
        ("runs", "wall_ns", "lost_ns", "own_bytes", "grown_bytes", "swapped_bytes", "growers", "blocks"),
        culprits.memory_waiting,
    ),
    FindingRow(
        "network_use",
        "who moved the larger part of the bytes over the network while the runs slept",
        ("runs", "wall_ns", "slept_ns", "interval_ns", "own_bytes", "others_bytes", "movers", "blocks"),
        culprits.network_use,
    ),
    FindingRow("no_load", "a stored study without a record of load", ("study", "imported"), load.no_load),
    FindingRow(
        "network_errors",
        "errors, drops and collisions of the network beyond the usual limit",
        ("machine", "events", "of", "limit"),
        load.network_errors,
    ),
    FindingRow(
        "nfs_retransmissions",
        "calls that NFS sent again beyond the usual limit",
        ("machine", "events", "of", "limit"),
        load.nfs_retransmissions,
    ),
    FindingRow(
        "loaded_reference",
        "steps of a plan that should have had no load, but had some",
        ("machine", "loaded", "steps", "used"),
        load.loaded_reference,
    ),
    FindingRow("no_delay", "a program whose delay cannot be computed", ("machine",), load.no_delay),
    FindingRow(
        "processor",
        "most of the variance comes from the processor's varying speed; what settings did nevertheless",
        (*_SOURCE, *_TESTED),
        tune.processor,
    ),
    FindingRow(
        "search_drift", "the machine became slower or faster during a search", ("p_value", "spread"), tune.drifted
    ),
    FindingRow(
        "censored",
        "failed trials of a search, which have no value in its fit",
        ("failed", "trials", "slow"),
        tune.censored,
    ),
    FindingRow("no_fit", "why no surface was fitted to the trials of a search", ("why",), tune.no_fit),
    FindingRow(
        "strongest",
        "settings measured before concluding that none help",
        ("arms", "helped", "at_most", "at_most_of"),
        tune.strongest,
    ),
    FindingRow("program", "most of the variance arises while the program computes", _SOURCE, tune.program),
    FindingRow("waiting", "most of the variance is time in which the program does not compute", _SOURCE, tune.waiting),
    FindingRow(
        "parallel", "the program uses more CPUs than some settings leave it", ("cpus", "confining"), tune.parallel
    ),
    FindingRow("tried", "named settings that were not measured", ("name", "same_as"), tune.tried),
    FindingRow(
        "list_best",
        "a known list varies less than what the search chose, and is recommended",
        ("list", "ratio", "low", "high"),
        tune.list_best,
    ),
    FindingRow(
        "no_better",
        "the choice is not shown to be better than a known list",
        ("list", "ratio", "low", "high"),
        tune.no_better,
    ),
    FindingRow("budget", "parts that the time budget was too short for", ("left_out",), tune.budget),
    FindingRow("refused", "settings that the host refused", ("settings", "error"), tune.refused),
    FindingRow(
        "setting_changed",
        "something else changed a setting while becalm held it",
        ("knob", "place", "found", "wanted"),
        study.setting_changed,
    ),
    FindingRow(
        "setting_clamped",
        "the kernel set another value than the requested one",
        ("knob", "place", "found", "wanted"),
        study.setting_clamped,
    ),
    FindingRow("partial", "a profile measured without some of its settings", ("profile", "knobs"), tune.partial),
    FindingRow("boots", "what restarts of the machine cost and mean", ("boots", "boot_ns", "share"), tune.boots),
    FindingRow("at_boot", "boot settings that were not tried", ("knobs", "rationale"), tune.at_boot),
    FindingRow("choice", "how the search made its choice", ("why",), tune.choice),
    FindingRow("nothing", "nothing was recommended, so nothing was tried on other hosts", ("host",), study.nothing),
    FindingRow("remark", "a remark on settings or on programs that ran alongside", ("said",), study.remark),
    FindingRow("imported", "runs that another tool has measured", ("source",), study.imported),
    FindingRow("same_machine", "hosts that turned out to be one machine", ("hosts",), study.same_machine),
    FindingRow("busy", "a machine that was not idle while it was surveyed", ("wait_share", "host"), study.busy),
    FindingRow(
        "rate_not_kept",
        "machines of one kind that are too unlike for the stated share of wrong names",
        ("processor", "work", "memory", "unlike"),
        study.rate_not_kept,
    ),
    FindingRow(
        "region_limit_unknown",
        "timed regions whose timer has an unknown smallest visible change",
        ("quantum_ns",),
        region.limit_unknown,
    ),
    FindingRow("region_short", "timed regions shorter than an empty one", ("names", "cost_ns"), region.short_regions),
    FindingRow(
        "region_below",
        "timed regions shorter than the timer's t_min",
        ("names", "calls", "t_min_ns"),
        region.below,
    ),
    FindingRow("region_migrated", "timed regions that changed the processor", ("regions", "of"), region.migrated),
    FindingRow("region_backwards", "timed regions of negative length", ("regions", "of"), region.backwards),
    FindingRow(
        "region_dropped",
        "timed regions that a full ring dropped",
        ("regions", "recorded", "keeps_last"),
        region.dropped,
    ),
    FindingRow("region_thinned", "more timed regions than are analysed", ("read", "recorded"), region.thinned),
    FindingRow(
        "region_damage",
        "a file of timed regions that is cut off or damaged",
        ("bytes", "places", "lost", "header", "open"),
        region.damage,
    ),
    FindingRow(
        "region_store_damage", "pieces of a file of regions damaged in the store", ("pieces",), region.store_damage
    ),
    FindingRow("region_clock", "a clock that cannot time short regions", ("trapped", "source"), region.clock),
    FindingRow("region_rate", "a counter that is not announced to run at one rate", ("hypervisor",), region.rate),
    FindingRow("region_stepped", "a clock that was set while regions were timed", (), region.stepped),
    FindingRow(
        "region_cause",
        "what the machine did while timed regions stood out",
        ("study", "columns", "p_value", "ticks", "outliers"),
        region.cause,
    ),
    FindingRow(
        "region_no_cause",
        "outliers of timed regions that a record of load does not explain",
        ("study", "why", "ticks"),
        region.no_cause,
    ),
    FindingRow("region_machines", "files of timed regions of different machines", ("machines",), region.other_machine),
    FindingRow(
        "region_timer",
        "an evaluation of timers for another clock than that of a file of regions",
        ("kept_hz", "hz"),
        region.other_timer,
    ),
    FindingRow("region_elsewhere", "an evaluation of timers from another machine", (), region.elsewhere),
    FindingRow("region_one_side", "names of timed regions that only one side has", ("side", "names"), region.one_side),
    FindingRow(
        "region_some_files", "names that only some files of regions have", ("names", "files"), region.some_files
    ),
    FindingRow("region_cut_files", "files of regions that were not closed", ("files",), region.cut_files),
    FindingRow("region_one_file", "a comparison of timed regions of single processes", ("wanted",), region.one_file),
    FindingRow(
        "region_coarse", "a timer too coarse for the limit of a comparison", ("name", "share", "calls"), region.between
    ),
    FindingRow("few", "too few machines of one kind to tell outliers", ("machines", "processor", "least"), study.few),
    FindingRow(
        "lack_of_fit",
        "a surface misses by more than repeated runs differ",
        ("model", "p_value", "larger", "power", "curvature"),
        design.lack_of_fit,
    ),
    FindingRow(
        "curvature",
        "the centre of a two-level design lies off the mean of its corners",
        ("value", "low", "high", "t", "p_value", "freedom"),
        design.curvature,
    ),
    FindingRow(
        "near_ridge", "a surface that is nearly level in some direction", ("directions", "shares"), design.near_ridge
    ),
    FindingRow("no_effect", "no factor changes the response visibly", ("detectable", "mean", "runs"), design.no_effect),
    FindingRow(
        "saturated", "a model takes all runs and leaves none for its error", ("model", "real"), design.saturated
    ),
    FindingRow(
        "partly_aliased",
        "effects of factors that contain parts of two-factor interactions",
        ("share",),
        design.partly_aliased,
    ),
    FindingRow("aliased_terms", "terms that the runs cannot tell apart", ("model", "terms"), design.aliased_terms),
    FindingRow("power", "a power of the response fits better", ("power", "low", "high", "advised"), design.power),
    FindingRow("no_power", "a response that is not above 0, and has no power", ("smallest",), design.no_power),
    FindingRow(
        "fit_outlier", "a run far from what the others predict", ("run", "studentised", "p_value"), design.fit_outlier
    ),
    FindingRow("influential", "runs that dominate a fit", ("runs", "run", "cook"), design.influential),
    FindingRow("imprecise", "a surface that hardly rises above its noise", ("precision", "needed"), design.imprecise),
    FindingRow("overfitted", "a model predicts worse than it fits", ("adjusted", "predicted"), design.overfitted),
    FindingRow("untested_fit", "no repeated runs to test the fit with", ("model",), design.untested_fit),
    FindingRow("at_border", "the best place is at the end of a range", ("factors", "goal"), design.at_border),
    FindingRow(
        "stationary",
        "the surface is level outside the ranges, or not as wanted",
        ("kind", "inside", "wanted", "levels", "factors", "place", "distance"),
        design.stationary,
    ),
    FindingRow("extrapolated", "the best place is far from all runs", ("leverage", "largest"), design.extrapolated),
    FindingRow("missing_runs", "runs of a design without a value", ("missing", "runs"), design.missing_runs),
    FindingRow("outside_range", "a design has runs beyond its ranges", ("ends",), design.outside_range),
)
"""All kinds of findings. A new one is a row and its sentence."""

_BY_KIND = {row.kind: row for row in TABLE}


def finding(kind: str, numbers: Numbers, program: str = "") -> Finding:
    """Return a finding with its sentence. Raises KeyError for an unknown kind."""
    return Finding(kind, sentence(kind, numbers, program), numbers, program)


def reworded(numbers: Numbers) -> Finding:
    """Return a stored finding with its sentence made anew. Raises KeyError for one that lacks a part."""
    return finding(str(numbers["kind"]), dict(numbers["numbers"]), str(numbers["program"]))


def sentence(kind: str, numbers: Numbers, program: str = "") -> str:
    """Return the sentence of a finding. With a program, a `host` among the numbers names the machine."""
    text = _BY_KIND[kind].sentence(program, numbers)
    return f"On {numbers['host']}: {text}" if program and "host" in numbers else text
