"""`becalm place`: which of the programs of a profile belong together, what that gains, and how sure the gain is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from becalm import hosts
from becalm.analysis.place import AdviceOptions, advise, with_warnings
from becalm.analysis.place_gain import parts_of, thin_costs
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Access, Host
from becalm.nouns.option import refuse_unknown
from becalm.nouns.options.place import PlaceOptions
from becalm.nouns.signature import takes
from becalm.report.place_export import PlacementExport, exported
from becalm.results.place import PlacementAdvice
from becalm.results.place_costs import PlacementObjective, Task, chips_of
from becalm.study.place_source import PlacementSource, of_profile, read
from becalm.study.settings_profile import machine_of
from becalm.wording import place as wording
from becalm.wording import place_running

if TYPE_CHECKING:
    from becalm.verbs.keywords import PlaceKeywords

__all__ = ["export_placement", "of_profile", "place"]


@takes(PlaceOptions)
def place(
    reference: str = "last",
    *,
    force: bool = False,
    only: Sequence[str] = (),
    host: str | Host = "local",
    store: str | None = None,
    **keywords: Unpack[PlaceKeywords],
) -> PlacementAdvice:
    """Recommend which programs belong together on a chip; where all CPUs share one cache, which run at the same time.

    Arguments:
        reference: a profile of `becalm corun`: "last", the number of a study, or a file; or a file of costs.
        force: also use a profile of another machine.
        only: the names of the programs to place; none: all.
        host: the machine that the programs will run on.
        store: where studies are kept.

    Raises UsageError for programs that cannot be placed, RefusedError for a profile of another machine, MachineError
    and StoreError.
    """
    refuse_unknown(keywords, PlaceOptions)
    options = PlaceOptions.of(keywords)
    source = read(reference, store)
    with hosts.open(host, Access()) as machine:
        facts = machine.facts()
    warnings = _elsewhere(source, machine_of(facts), force)
    tasks = _only(source, only)
    parts = parts_of(source.profile) if source.profile is not None else thin_costs(source.tasks, source.costs)
    advice = advise(
        tasks,
        source.chips if options.chips is None else chips_of(options.chips),
        source.costs,
        [part.of([task.name for task in tasks]) for part in parts],
        AdviceOptions(options.method, PlacementObjective(options.objective), options.seed, options.budget_s),
        source=source.name,
        machine=source.machine,
        commands=source.commands,
    )
    trouble = wording.trouble(source.profile) if source.profile is not None else []
    advice = with_warnings(advice, [*warnings, *trouble, *wording.machine(facts, len(advice.chips))])
    return replace(advice, sentence=wording.sentence(advice))


def export_placement(advice: PlacementAdvice, form: str) -> PlacementExport:
    """Return a placement as files that apply it without becalm: taskset, systemd, kubernetes.

    Raises UsageError for an unknown form, and for a placement that the form cannot express.
    """
    return exported(advice, form)


def _only(source: PlacementSource, names: Sequence[str]) -> tuple[Task, ...]:
    known = [task.name for task in source.tasks]
    for name in names:
        if name not in known:
            raise UsageError(place_running.no_task(name, known))
    return tuple(task for task in source.tasks if not names or task.name in names)


def _elsewhere(source: PlacementSource, ours: Mapping[str, str], force: bool) -> list[str]:
    theirs = source.machine
    differs = [key for key, value in theirs.items() if key in ours and ours[key] != value]
    if not differs:
        return []
    warning = wording.elsewhere(source.name, differs, theirs, ours)
    if not force:
        raise RefusedError(wording.refused_elsewhere(warning))
    return [warning]
