"""The source of a placement: a profile that `becalm corun` measured, of the store or a file, or costs in a file.

    read(reference, store) -> PlacementSource

A file of costs is JSON: `{"kind": "co-run-costs", "tasks": [{"name", "solo_s", …}], "chips": [{"cores", …}], "costs":
{"pairs": [{"task", "beside", "cost", "error"}], …}}`, with the fields of `becalm.results.place_costs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from becalm.errors import UsageError
from becalm.files.kinds import described
from becalm.files.tables import check_keys, json_value, unknown_name
from becalm.files.text import read_text
from becalm.hosts.agent import agent_path
from becalm.nouns.codec import fields_of
from becalm.nouns.workload import AGENT
from becalm.results import corun as co_run_profile
from becalm.results.corun import CoRunProfile
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, SetCosts, Task
from becalm.store import Store

COSTS = "co-run-costs"
"""The kind of a file of costs."""


PARTS = ("kind", "tasks", "chips", "costs", "machine", "commands")
"""The keys of such a file."""


@dataclass(frozen=True, slots=True)
class PlacementSource:
    """Tasks, chips and costs, with the profile that they are of, where they were measured. `name`: what it is called,
    `machine`: hostname and cpu, `commands`: what is run, by name."""

    name: str
    tasks: tuple[Task, ...]
    chips: tuple[Chip, ...]
    costs: CoRunCosts
    machine: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]]
    profile: CoRunProfile | None = None


def read(reference: str, store: str | None = None) -> PlacementSource:
    """Return the source of a reference: "last", the number of a study, or a file of a profile or of costs.

    Raises UsageError when there is none, or it is invalid; StoreError.
    """
    number = reference.removeprefix("study:")
    if number == "last" or number.isdecimal():
        return _measured(*_of_study(number, store))
    try:
        text = read_text(reference)
    except UsageError as error:
        raise UsageError(f"{error} A profile is a file, the number of a study, or `last`.") from None
    return _of_text(text, reference)


def of_profile(profile: CoRunProfile, name: str) -> PlacementSource:
    """Return the source of a profile that was just measured. Raises UsageError where programs were not measured
    together."""
    return _measured(profile, name)


def _measured(profile: CoRunProfile, name: str) -> PlacementSource:
    commands = {program.name: _typed(program.workload.argv) for program in profile.programs if program.workload.argv}
    return PlacementSource(
        name, profile.tasks(), profile.chips, profile.costs(), profile.machine, commands, profile
    )  # fmt: skip


def _typed(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command as it is run outside of the agent, which knows itself as the program that it is."""
    return (agent_path(), *argv[1:]) if argv[0] == AGENT else argv


def _of_study(number: str, store: str | None) -> tuple[CoRunProfile, str]:
    with Store.open(store) as opened:
        newest = opened.studies(limit=1, kind="corun", facts=False) if number == "last" else ()
        if number == "last" and not newest:
            raise UsageError(f"The store {opened.shown} has no profile of programs. Measure one: becalm corun A B C")
        found = newest[0].number if newest else opened.resolve(number)
        value = opened.verdict(found)
    if value is None or value.get("kind") != co_run_profile.KIND:
        raise UsageError(f"Study {found} is no finished profile of programs. `becalm list --kind corun` lists those.")
    return CoRunProfile.of_text(json.dumps(value), f"Study {found}"), f"study {found}"


def _of_text(text: str, where: str) -> PlacementSource:
    value = json_value(text, where)
    if isinstance(value, dict) and value.get("kind") == co_run_profile.KIND:
        return _measured(CoRunProfile.of_text(text, where), where)
    if not isinstance(value, dict) or value.get("kind") != COSTS:
        forms = (
            f'a profile of programs ("kind": "{co_run_profile.KIND}", of `becalm corun --save FILE`) nor costs of '
            f'your own ("kind": "{COSTS}")'
        )
        data = text.encode("utf-8", "replace")
        raise UsageError(described(data, where, "", f"is neither {forms}").strip())
    return _given(value, where)


def _given(value: Mapping[str, Any], where: str) -> PlacementSource:
    check_keys(value, PARTS, where)
    for name in ("tasks", "chips", "costs"):
        if not value.get(name):
            raise UsageError(f"{where} has no {name}. They are given as in docs/reference/placement.md.")
    try:
        for part, kind in (("tasks", Task), ("chips", Chip)):
            for row in filter(_is_table, value[part]):
                check_keys(row, [field.name for field in fields(kind)], f"{part} of {where}")
        _check_costs(value["costs"], where)
        tasks = tuple(Task(**fields_of(Task, task)) for task in value["tasks"])
        chips = tuple(Chip(**fields_of(Chip, chip)) for chip in value["chips"])
        costs = CoRunCosts.from_json({"origin": str(CostOrigin.GIVEN), **value["costs"]})
        machine = {str(key): str(each) for key, each in dict(value.get("machine") or {}).items()}
        commands = {str(key): tuple(map(str, each)) for key, each in dict(value.get("commands") or {}).items()}
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise UsageError(f"{where} cannot be read: {error}.") from None
    _check_names(costs, [task.name for task in tasks], commands, where)
    return PlacementSource(where, tasks, chips, costs, machine, commands)


def _is_table(row: Any) -> bool:
    return isinstance(row, Mapping)


def _check_costs(value: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for a key that costs do not have."""
    rows = {"pairs": PairCost, "sets": SetCosts, "siblings": PairCost}
    check_keys(value, ("origin", *rows), f"costs of {where}")
    for part, kind in rows.items():
        for row in filter(_is_table, value.get(part) or ()):
            check_keys(row, [field.name for field in fields(kind)], f"{part} of {where}")


def _check_names(costs: CoRunCosts, tasks: Sequence[str], commands: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for a cost or a command of a task that is not listed: it would be ignored."""
    named = [name for each in costs.sets for name in each.tasks]
    named += [name for pair in (*costs.pairs, *costs.siblings) for name in (pair.task, pair.beside)]
    for what, names in (("cost", named), ("command", list(commands))):
        for name in names:
            if name not in tasks:
                raise UsageError(
                    f"{where} has a {what} of {name!r}, which is not among its tasks. {unknown_name(name, tasks)}"
                )
