"""The source of a placement: a profile that `becalm corun` measured, from the store or a file, or a file of costs.

    read(reference, store) -> PlacementSource

A file of costs is JSON: `{"kind": "co-run-costs", "tasks": [{"name", "solo_s", …}], "chips": [{"cores", …}], "costs":
{"pairs": [{"task", "alongside", "cost", "error"}], …}}`, with the fields of `becalm.results.place_costs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.files.kinds import describe
from becalm.files.tables import check_keys, json_value, unknown_name
from becalm.files.text import read_text
from becalm.hosts.agent import agent_path
from becalm.nouns.codec import decode
from becalm.nouns.workload import AGENT
from becalm.results.corun import CoRunProfile
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, SetCosts, Task
from becalm.store import Store

COSTS = "co-run-costs"
"""The `kind` of a file of costs."""


KEYS = ("kind", "tasks", "chips", "costs", "machine", "commands")
"""The keys of a file of costs."""


class PlacementSource(msgspec.Struct, frozen=True):
    """Tasks, chips and costs, with the profile if they were measured.

    `name`: the displayed name. `machine`: hostname and cpu. `commands`: command lines by the names of tasks.
    """

    name: str
    tasks: tuple[Task, ...]
    chips: tuple[Chip, ...]
    costs: CoRunCosts
    machine: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]]
    profile: CoRunProfile | None = None


def read(reference: str, store: str | None = None) -> PlacementSource:
    """Return the source of a reference: "last", the number of a study, or a file with a profile or costs.

    Raises UsageError when it is missing or invalid, and StoreError.
    """
    number = reference.removeprefix("study:")
    if number == "last" or number.isdecimal():
        return _from_profile(*_profile_of_study(number, store))
    try:
        text = read_text(reference)
    except UsageError as error:
        raise UsageError(f"{error} A profile is a file, the number of a study, or `last`.") from None
    return _parse(text, reference)


def of_profile(profile: CoRunProfile, name: str) -> PlacementSource:
    """Return the source of a profile that was just measured. Raises UsageError where programs were never co-run."""
    return _from_profile(profile, name)


def _from_profile(profile: CoRunProfile, name: str) -> PlacementSource:
    commands = {program.name: _runnable(program.workload.argv) for program in profile.programs if program.workload.argv}
    return PlacementSource(
        name, profile.tasks(), profile.chips, profile.costs(), profile.machine, commands, profile
    )  # fmt: skip


def _runnable(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with the path of the agent in place of its symbol AGENT."""
    return (agent_path(), *argv[1:]) if argv[0] == AGENT else argv


def _profile_of_study(number: str, store: str | None) -> tuple[CoRunProfile, str]:
    with Store.open(store) as opened:
        newest = opened.studies(limit=1, kind="corun", facts=False) if number == "last" else ()
        if number == "last" and not newest:
            raise UsageError(f"The store {opened.shown} has no profile of programs. Measure one: becalm corun A B C")
        study = newest[0].number if newest else opened.resolve(number)
        value = opened.verdict(study)
    if value is None or value.get("kind") != CoRunProfile.KIND:
        raise UsageError(
            f"Study {study} is not a finished profile of programs. `becalm list --kind corun` lists those."
        )
    return CoRunProfile.of_text(json.dumps(value), f"Study {study}"), f"study {study}"


def _parse(text: str, where: str) -> PlacementSource:
    value = json_value(text, where)
    if isinstance(value, dict) and value.get("kind") == CoRunProfile.KIND:
        return _from_profile(CoRunProfile.of_text(text, where), where)
    if not isinstance(value, dict) or value.get("kind") != COSTS:
        forms = (
            f'a profile of programs ("kind": "{CoRunProfile.KIND}", of `becalm corun --save FILE`) nor costs of '
            f'your own ("kind": "{COSTS}")'
        )
        data = text.encode("utf-8", "replace")
        raise UsageError(describe(data, where, "", f"is neither {forms}").strip())
    return _from_costs(value, where)


def _from_costs(value: Mapping[str, Any], where: str) -> PlacementSource:
    check_keys(value, KEYS, where)
    for name in ("tasks", "chips", "costs"):
        if not value.get(name):
            raise UsageError(f"{where} has no {name}. They are given as in docs/reference/placement.md.")
    try:
        for part, kind in (("tasks", Task), ("chips", Chip)):
            for row in filter(_is_table, value[part]):
                check_keys(row, kind.__struct_fields__, f"{part} of {where}")
        _check_costs(value["costs"], where)
        tasks = tuple(decode(Task, task) for task in value["tasks"])
        chips = tuple(decode(Chip, chip) for chip in value["chips"])
        costs = CoRunCosts.from_json({"origin": str(CostOrigin.GIVEN), **value["costs"]})
        machine = {str(key): str(entry) for key, entry in dict(value.get("machine") or {}).items()}
        commands = {str(key): tuple(map(str, words)) for key, words in dict(value.get("commands") or {}).items()}
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise UsageError(f"{where} cannot be read: {error}.") from None
    _check_names(costs, [task.name for task in tasks], commands, where)
    return PlacementSource(where, tasks, chips, costs, machine, commands)


def _is_table(row: Any) -> bool:
    return isinstance(row, Mapping)


def _check_costs(value: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for an unknown key of costs."""
    rows = {"pairs": PairCost, "sets": SetCosts, "siblings": PairCost}
    check_keys(value, ("origin", *rows), f"costs of {where}")
    for part, kind in rows.items():
        for row in filter(_is_table, value.get(part) or ()):
            check_keys(row, kind.__struct_fields__, f"{part} of {where}")


def _check_names(costs: CoRunCosts, tasks: Sequence[str], commands: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for a cost or a command of a task that is not listed: it would be ignored."""
    cost_names = [name for cost_set in costs.sets for name in cost_set.tasks]
    cost_names += [name for pair in (*costs.pairs, *costs.siblings) for name in (pair.task, pair.alongside)]
    for part, names in (("cost", cost_names), ("command", list(commands))):
        for name in names:
            if name not in tasks:
                raise UsageError(
                    f"{where} has a {part} of {name!r}, which is not among its tasks. {unknown_name(name, tasks)}"
                )
