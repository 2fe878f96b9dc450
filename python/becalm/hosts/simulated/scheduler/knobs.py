"""The settings of a simulated scheduler: knobs of the kernel, with the names and ranges of the catalogue.

`sched_latency_ns` and similar ones belong to the policy; `nice`, `policy` and `slice_ns` to all tasks of the program.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler import versions
from becalm.nouns.knob import Knob, catalogue, find
from becalm.nouns.settings import Settings
from becalm.units import join_names

Request = dict[str, Any]

FACTOR_CPUS = 8
"""The number of CPUs up to which the kernel scales its times (get_update_sysctl_factor)."""


class KnobRow(msgspec.Struct, frozen=True):
    """A knob of the catalogue in the model: its default on a machine with one CPU, and the function that applies it.

    `scaled`: whether the default grows with the number of CPUs.
    """

    name: str
    policies: tuple[str, ...]
    default: str
    put: Callable[[Request, str | int], None]
    scaled: bool = False


def _of_policy(name: str) -> Callable[[Request, str | int], None]:
    def put(request: Request, value: str | int) -> None:
        (knobs,) = request["policy"].values()
        knobs[name] = int(value)

    return put


def _feature(name: str) -> Callable[[Request, str | int], None]:
    def put(request: Request, value: str | int) -> None:
        (knobs,) = request["policy"].values()
        knobs.setdefault("features", {})[name] = value == "on"

    return put


def _of_tasks(name: str, read: Callable[[str | int], Any]) -> Callable[[Request, str | int], None]:
    def put(request: Request, value: str | int) -> None:
        request.setdefault("tasks", {})[name] = read(value)

    return put


def _of_machine(name: str) -> Callable[[Request, str | int], None]:
    def put(request: Request, value: str | int) -> None:
        request["machine"][name] = int(value)

    return put


PREFIX = "sched_feature_"
BOTH = ("cfs", "eevdf")
CFS, EEVDF = ("cfs",), ("eevdf",)
FEATURES = sorted({*versions.OFF, *(feature for version in versions.TABLE for feature in version.on)})
"""The features of kernel/sched/features.h in the model, in lower case."""

TABLE = (
    KnobRow("nice", BOTH, "0", _of_tasks("nice", int)),
    KnobRow("policy", BOTH, "other", _of_tasks("class", str)),
    KnobRow("slice_ns", EEVDF, "0", _of_tasks("slice_ns", int)),
    KnobRow("sched_latency_ns", CFS, "6000000", _of_policy("latency_ns"), scaled=True),
    KnobRow("sched_min_granularity_ns", CFS, "750000", _of_policy("min_granularity_ns"), scaled=True),
    KnobRow("sched_wakeup_granularity_ns", CFS, "1000000", _of_policy("wakeup_granularity_ns"), scaled=True),
    KnobRow("sched_base_slice_ns", EEVDF, "700000", _of_policy("base_slice_ns"), scaled=True),
    KnobRow("sched_migration_cost_ns", BOTH, "500000", _of_machine("migration_cost_ns")),
    KnobRow("sched_nr_migrate", BOTH, "32", _of_machine("nr_migrate")),
    *(KnobRow(PREFIX + name, BOTH, "on", _feature(name.upper())) for name in FEATURES),
)

CLASSES = ("other", "batch", "idle")
"""The policies of tasks in the model."""


def scaling(cpus: int) -> int:
    """Return the factor by which the kernel multiplies its times."""
    return min(cpus, FACTOR_CPUS).bit_length()


def of_model(policy: str, cpus: int, kernel: str | None = None) -> list[Knob]:
    """Return the catalogue with the support by a model, and the defaults of Linux `kernel`. Raises UsageError."""
    version = versions.of(policy, kernel)
    rows = {row.name: row for row in TABLE}
    knobs = []
    for knob in catalogue():
        row = rows.get(knob.name)
        value = None if row is None else _default(row, version, cpus)
        if value is None:
            knobs.append(replace(knob, supported=False, reason=_why(row, version), value=None))
        else:
            knobs.append(replace(knob, supported=True, reason=None, value=value, privileged="none"))
    return knobs


def _default(row: KnobRow, version: versions.Version, cpus: int) -> str | None:
    """Return the default of a row on a kernel; None if the kernel lacks the knob."""
    if row.name.startswith(PREFIX):
        return version.state(row.name.removeprefix(PREFIX))
    if version.policy not in row.policies:
        return None
    default = str(version.base_slice_ns) if row.name == "sched_base_slice_ns" else row.default
    return str(int(default) * scaling(cpus)) if row.scaled else default


def _why(row: KnobRow | None, version: versions.Version) -> str:
    if row is None:
        return "the model of a scheduler does not have it"
    feature = row.name.removeprefix(PREFIX)
    others = [
        other for other in versions.TABLE
        if (other.state(feature) is not None if feature != row.name else other.policy in row.policies)
    ]  # fmt: skip
    where = join_names(f"sim:{other.policy}?kernel={other.name}" for other in others)
    have = "have" if len(others) > 1 else "has"
    return f"the scheduler {version.policy} of Linux {version.name} has none; {where} {have} it"


def usual(policy: str, cpus: int, kernel: str | None = None) -> Request:
    """Return the defaults of a kernel's policy in the engine's form: its slice, and the state of all features."""
    version = versions.of(policy, kernel)
    states = {feature.upper(): version.state(feature) == "on" for feature in FEATURES if _has(policy, feature)}
    slices = {"base_slice_ns": version.base_slice_ns * scaling(cpus)} if policy == "eevdf" else {}
    return {**slices, **version.more, "features": states}


def _has(policy: str, feature: str) -> bool:
    return any(version.policy == policy and version.state(feature) for version in versions.TABLE)


def put(request: Mapping[str, Any], settings: Settings, knobs: Sequence[Knob]) -> Request:
    """Return a request with settings applied. Raises UsageError for an unknown knob, and for an invalid value."""
    result: Request = {**request, "policy": {name: copy.deepcopy(values) for name, values in request["policy"].items()}}
    result["machine"] = dict(request["machine"])
    rows = {row.name: row for row in TABLE}
    for name, value in settings.values:
        knob = find(knobs, name)
        if not knob.supported:
            raise UsageError(f"{name} cannot be set here: {knob.reason}.")
        try:
            parsed = knob.domain.parse(value)
        except ValueError as error:
            raise UsageError(f"{name}={value}: {error}.") from None
        if name == "policy" and parsed not in CLASSES:
            raise UsageError(f"policy={value} cannot be set here: the model has {', '.join(CLASSES)}.")
        rows[name].put(result, parsed)
    return result
