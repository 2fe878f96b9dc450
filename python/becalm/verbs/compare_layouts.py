"""`becalm compare --layouts`: two programs compared beyond layout, each built and measured in several layouts."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from becalm.errors import UsageError
from becalm.hosts import which_machine
from becalm.nouns.metric import Response, Work
from becalm.nouns.options.layouts import MOST, LayoutOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload, shell_of, split
from becalm.results.layouts import LayoutComparison
from becalm.study.layout_builds import SideBuilds, build_side, check_placeholders
from becalm.study.layouts import measure_layouts, refuse_counts
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.wording import layouts as words
from becalm.workloads import single
from becalm.workloads.parameters import around, filled

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords
    from becalm.verbs.keywords import CompareLayoutsKeywords

SIDES = ("old", "new")
"""The names of the programs where they have none."""


@takes(
    LayoutOptions,
    Response,
    Work,
    CommandLine,
    Workload,
    WithProfile,
    SessionOptions,
    without=("name", "precision"),
)
def compare_layouts(old: str, new: str | None = None, **keywords: Unpack[CompareLayoutsKeywords]) -> LayoutComparison:
    """Compare two programs beyond layout: build each in several layouts, and measure all builds in random order.

    Arguments:
        old, new: command lines with {build}, the directory of a build, or {seed}, the number of its layout, in them;
            `new` is `old` where it is left out.

    `old_build` and `new_build` are run once for each layout, in the working directory, with {seed} and {build} filled
    in, and go to no shell unless `shell` is set. The interval contains the variance between layouts.

    Raises UsageError (no {seed}, or one without effect), WorkloadError (a build or a program fails), MachineError,
    StoreError.
    """
    if keywords.get("precision") is not None:
        raise UsageError(
            "--precision is not available for layouts: more layouts narrow the interval, more rounds hardly."
        )
    options, session, program = split_keywords(LayoutOptions, keywords, WithProfile, Response, Work)
    response, work = Response.of(keywords), Work.of(keywords)
    refuse_counts(response.metrics)
    if not (options.old_build and options.new_build):
        raise UsageError("Layouts need --old-build and --new-build: the commands that build the programs, with {seed}.")
    if options.layouts > MOST:
        raise UsageError(f"--layouts must be at most {MOST}, not {options.layouts}.")
    if which_machine(session.host_name) is not None:
        raise UsageError("Programs are built on this machine, and measured here: leave --host out.")
    names = options.names or SIDES
    if len(names) != len(SIDES) or names[0] == names[1]:
        raise UsageError("Two programs need two names that differ. Give each program one --name.")
    commands, builds = (old, old if new is None else new), (options.old_build, options.new_build)
    for name, command, build in zip(names, commands, builds, strict=True):
        check_placeholders(name, command, build)
    shell = shell_of(program)
    words_of = [split(build, shell=shell) for build in builds]
    seeds = range(options.first_seed, options.first_seed + options.layouts)
    session.listener.warned(words.building(names, options.layouts))
    with tempfile.TemporaryDirectory(prefix="becalm-layouts-", ignore_cleanup_errors=True) as directory:
        root = Path(directory)
        if session.user is not None:
            # The programs of another user are in it.
            root.chmod(0o755)

        def built(place: int) -> SideBuilds:
            def layout(values: Workload) -> Workload:
                return _layout(commands[place], names[place], values, program).measuring(response, work)

            return build_side(
                names[place],
                words_of[place],
                seeds,
                root / SIDES[place],
                timeout_s=options.build_timeout_ns / 1e9,
                program=layout,
            )

        sides = built(0), built(1)
        options = replace(
            options,
            names=tuple(names),
            commands=commands,
            seeds=tuple(tuple(side.workloads) for side in sides),
            equal=tuple(side.equal for side in sides),
        )
        workloads = [workload for side in sides for workload in side.workloads.values()]
        return measure_layouts(session.study("layouts", workloads, options), options, session)


def _layout(command: str, name: str, values: Workload, program: ProgramKeywords) -> Workload:
    """Return the program of a layout: the command with its values filled in, called by the seed."""
    workload = single(filled(command, values), **program)
    parameters = dict(workload.parameters) | dict(values.parameters)
    name = f"{name} (layout {parameters['seed']})"
    workload = replace(workload, name=name, parameters=tuple(sorted(parameters.items())))
    return around(workload, cast(dict[str, Any], program))
