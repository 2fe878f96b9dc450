"""`becalm tune`: find the settings under which programs vary least, confirm them, and say what each contributes.

`tune` sorts the options out and opens what a study needs; `becalm.study.tune` makes the study.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from becalm import workloads as sources
from becalm.errors import UsageError, WorkloadError
from becalm.hosts import Ability, MeasureRequest, runs_of
from becalm.methods import method as method_row
from becalm.methods.protocol import NO_SETTINGS, TrialDesign
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.tune_verdict import BASELINE, RECOMMENDED, TUNED, WITHOUT, TuneVerdict
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.study.options import MeasureOptions
from becalm.study.options import options as sort_options
from becalm.study.probe import Tried, probe_space, tried_on
from becalm.study.profile import described, machine_of, named
from becalm.study.session import StudySession, open_session
from becalm.study.tune import measure_tune
from becalm.tuning.candidates import SearchLimits
from becalm.tuning.trial_log import TrialLog
from becalm.units import fraction, limit_ns

DEFAULT_BUDGET = 1800.0
"""Seconds, more or less, when no budget is given."""

LEAST_RUNS = 60
"""Of the search when no budget is given: with fewer the race would only guess, however long a run takes."""

KERNEL_ITERATIONS = 4_000_000
"""Of the first run of the built-in kernel; the study's kernel is made as long as the programs, within limits."""

KERNEL_NS = (2e6, 50e6)


@dataclass(frozen=True, slots=True)
class Search:
    """How `tune` searches, as people give it. None: what the method is meant to be used with.

    `loops` × `runs` runs a trial after `warmups` loops; `objective` "cv" or "mad"; `threshold` a fraction or text
    ("0.5%"); `most_runs` of the search; `only`, `without`: knobs; `tried`: profiles to try instead of searching.
    """

    method: str = "race"
    objective: str = "cv"
    loops: int | None = None
    runs: int | None = None
    warmups: int | None = None
    threshold: float | str | None = None
    margin: float | str = 0.25
    most_runs: int | None = None
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    preserve_multicore: bool = False
    confirm_loops: int = 12
    confirm_runs: int = 5
    single_out: bool = True
    compare_profiles: bool = True
    tried: tuple[str, ...] = ()

    def rule(self) -> TrialDesign:
        """How trials are measured. Raises UsageError."""
        if self.objective not in ("cv", "mad"):
            raise UsageError(f"--objective is cv or mad, not {self.objective!r}.")
        usual = method_row(self.method).rule
        given = {"loops": self.loops, "runs": self.runs, "warmups": self.warmups, "most_runs": self.most_runs}
        least = {"loops": 1, "runs": 2, "warmups": 0, "most_runs": 1, "confirm_loops": 2, "confirm_runs": 2}
        confirm = {"confirm_loops": self.confirm_loops, "confirm_runs": self.confirm_runs}
        for name, value in (given | confirm).items():
            if value is not None and value < least[name]:
                raise UsageError(f"--{name.replace('_', '-')} must be at least {least[name]}, not {value}.")
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(
            usual,
            objective=self.objective,
            threshold=0.0 if self.threshold is None else fraction(self.threshold),
            **chosen,
        )


def tune(
    programs: Sequence[str | Iterable[str] | Workload] = (), *, resume: int | str | None = None, **options: Any
) -> TuneVerdict:
    """Find settings under which programs vary least, and confirm them on fresh runs.

    Arguments:
        programs: command lines, argument lists, Workloads, or other sources (`becalm.workloads`). The settings are for
            all of them together.
        resume: number of a study (or "last") that was interrupted: go on where it stopped.
        options: fields of `Search`; as for `becalm.run`: budget, seed, host, sudo, root, dangerous, store, user,
            confidence, timeout, directory, environment, …

    Returns a TuneVerdict. Raises UsageError, WorkloadError when a program fails on the untouched machine, MachineError
    when something of the machine could not be put back, Interrupted when stopped before the end.
    """
    search, rest = _search_options(options)
    rule = search.rule()
    measuring, workload = sort_options(rest)
    measuring.goal(DEFAULT_BUDGET)
    if resume is not None:
        if programs:
            raise UsageError("A study that is resumed has its own programs: name none.")
        return _resume(resume, measuring)
    made = sources.open(list(programs), user=measuring.user, **workload)
    budget_ns = limit_ns(DEFAULT_BUDGET if measuring.budget is None else measuring.budget)
    study = Study(
        kind="tune",
        workloads=made,
        options={
            "search": asdict(search),
            "rule": asdict(rule),
            "margin": fraction(search.margin),
            "budget_ns": budget_ns,
            "least_runs": LEAST_RUNS if measuring.budget is None else 1,
            "confidence": measuring.confidence,
            "dangerous": measuring.dangerous,
            "reference": 0,
            "fail_above": None,
            **({"group": measuring.group} if measuring.group else {}),
        },
        seed=int.from_bytes(os.urandom(4), "big") if measuring.seed is None else measuring.seed,
        host=measuring.host,
        title=measuring.title,
    )
    tried = _tried(search.tried, measuring)
    with open_session(measuring, _title(made)) as opened:
        kernel = _kernel(opened, made)
        study = replace(study, workloads=(*made, kernel) if kernel else made)
        rows, able = opened.host.knobs(), opened.host.abilities()
        wanted = SearchLimits(
            only=search.only,
            without=search.without,
            consent=measuring.dangerous,
            preserve_multicore=search.preserve_multicore,
            privileged=bool(able[Ability.MACHINE_SETTINGS]),
            reboots=bool(able[Ability.REBOOT]),
            stays=able[Ability.REBOOT].reason,
        )
        probe = None if search.tried else kernel
        found, excluded, partial = probe_space(opened, wanted, rows, probe, compare_profiles=search.compare_profiles)
        if tried:
            tried, excluded = tried_on(tried, rows, made, opened)
        at_boot = {each.knob for each in excluded if each.reason == wanted.stays}
        study = replace(
            study,
            options={
                **study.options,
                "space": found.to_json(),
                "excluded": [asdict(each) for each in excluded],
                "tried": [[name, settings.to_json()] for name, settings in tried],
                "privileged": wanted.privileged,
                "user": measuring.user,
                "allow_reboot": measuring.allow_reboot,
                "partial": partial,
                "boot_ns": opened.host.boot_ns,
                "lost": {row.name: row.rationale for row in rows if row.name in at_boot},
            },
        )
        opened.begin(study)
        return measure_tune(opened, study, TrialLog(), [NO_SETTINGS])


ELSEWHERE = {"settings": "only", "warmup": "warmups", "precision": "budget"}
"""Options of `becalm.run` that mean nothing here, and what comes nearest."""


def _search_options(given: Mapping[str, Any]) -> tuple[Search, dict[str, Any]]:
    names = set(Search.__dataclass_fields__)
    for name, instead in ELSEWHERE.items():
        if name in given:
            raise UsageError(f"tune has no option {name!r}. Did you mean {instead!r}?")
    chosen = {name: value for name, value in given.items() if name in names and value is not None}
    for name in ("only", "without", "tried"):
        if name in chosen:
            chosen[name] = (chosen[name],) if isinstance(chosen[name], str) else tuple(chosen[name])
    return Search(**chosen), {name: value for name, value in given.items() if name not in names}


def _title(programs: Sequence[Workload]) -> str:
    return f"becalm tune -- {', '.join(each.name for each in programs)}"[:200]


def _tried(references: Sequence[str], measuring: MeasureOptions) -> Tried:
    """The settings to try, each by a name of its own."""
    found: dict[str, Settings] = {}
    for reference in references:
        profile = named(reference, store=measuring.place)
        reserved = profile.name in (*found, BASELINE, TUNED, RECOMMENDED) or profile.name.startswith(WITHOUT)
        found[f"{profile.name} ({reference})" if reserved else profile.name] = profile.settings
    return tuple(found.items())


def _kernel(opened: StudySession, programs: Sequence[Workload]) -> Workload | None:
    """The built-in kernel, about as long as the programs; None where the host has none."""
    kernel = Workload(kernel="add", iterations=KERNEL_ITERATIONS, name="pure additions")

    def shortest(workload: Workload, runs: int) -> float:
        opened.host.define([workload], [NO_SETTINGS])
        block = Block(tuple(Step(0, 0, 0, index) for index in range(runs)))
        made = runs_of(opened.host.measure(MeasureRequest(0, block)))
        times = [run.wall_ns for run in made if run.outcome == "ok"]
        return float(min(times, default=0))

    with contextlib.suppress(WorkloadError, UsageError):
        unit = shortest(kernel, 3)
        wanted = max((shortest(each, 1) for each in programs), default=0.0)
        wanted = min(max(wanted, KERNEL_NS[0]), KERNEL_NS[1])
        return replace(kernel, iterations=max(1, round(KERNEL_ITERATIONS * wanted / max(unit, 1.0))))
    return None


def _resume(reference: int | str, measuring: MeasureOptions) -> TuneVerdict:
    """Go on with a study that was stopped: answer from its runs first, then measure."""
    with Store.open(measuring.place) as store:
        if str(reference) == "last":
            newest = store.studies(limit=1, kind="tune")
            reference = newest[0].number if newest else "last"
        stored = store.study(store.resolve(reference))
        finished = store.verdict(stored.number) is not None
    if stored.study.kind != "tune" or "space" not in stored.study.options:
        raise UsageError(f"Study {stored.number} is no tune. `becalm list --kind tune` shows those.")
    if finished:
        raise UsageError(f"Study {stored.number} is finished. `becalm show {stored.number}` shows what it found.")
    chosen = stored.study.options
    measuring = replace(
        measuring,
        host=stored.study.host,
        dangerous=bool(chosen["dangerous"]),
        user=measuring.user or chosen.get("user"),
        allow_reboot=bool(chosen.get("allow_reboot")),
    )
    with open_session(measuring, _title(stored.study.workloads)) as opened:
        if stored.study.options["privileged"] and not opened.host.abilities()[Ability.MACHINE_SETTINGS]:
            raise UsageError(
                f"Study {stored.number} changes settings of the machine. Go on with: "
                f"becalm tune --sudo --resume {stored.number}"
            )
        begun, here = machine_of(stored.facts), machine_of(opened.host.facts())
        if begun != here:
            measuring.listener.warned(
                f"Study {stored.number} was begun on {described(begun)}; this is {described(here)}: the runs of both "
                "are compared with each other."
            )
        opened.resume(stored)
        trials = TrialLog()
        trials.extend(opened.store.runs(stored.number))
        return measure_tune(opened, stored.study, trials, list(stored.study.settings))
