"""The noun Metric: a number of a run that is compared in place of its wall time.

The program prints it, or the agent measures it, such as memory or instructions. A metric is typed as one text: a
regular expression with one group, `json:` and a path, or the name of a quantity (`becalm.nouns.tables.quantities`),
followed by attributes after commas: `'Time: ([0-9.]+),unit=s'`, `'json:results.p99,unit=us'`, `'([0-9]+)
requests,better=higher'`, `memory:peak`. The agent finds the number in the output of a run
(crates/becalm-core/src/metric.rs), or measures it, and makes it part of the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import Json
from becalm.nouns.option import option, parse_keywords
from becalm.units import brief, plain_number

if TYPE_CHECKING:
    from becalm.nouns.tables import Quantity

LEAST, MOST = 1e-60, 1e60
"""The bounds of compared values: ratios need values above zero, and statistics use fourth powers (metric.rs)."""

PREFIX = "json:"
"""The prefix of a path into JSON."""

MEMORY, COUNTER = "memory:", "counter:"
"""The prefixes of quantities of memory and of counters."""

INSTRUCTIONS = "instructions"
"""Executed instructions, counted by the processor or, where it has no counter, by callgrind (`study.exact_counts`)."""

CALLGRIND = "callgrind:instructions"
"""Executed instructions, counted by callgrind."""

EXAMPLE = "'Time: ([0-9.]+),unit=s' or 'json:results.p99,unit=us,better=lower'"


class Better(StrEnum):
    """The direction in which the values of a metric improve."""

    LOWER = "lower"
    HIGHER = "higher"


class Take(StrEnum):
    """The match of a pattern that is used; SUM adds all of them."""

    FIRST = "first"
    LAST = "last"
    SUM = "sum"


class Metric(msgspec.Struct, frozen=True):
    """A number of a run. `spec`: a pattern, `json:` and a path, or a quantity; `unit`: empty for a plain number."""

    spec: str
    name: str
    unit: str = ""
    better: Better = Better.LOWER
    take: Take = Take.LAST

    @property
    def higher(self) -> bool:
        """Whether larger values are better."""
        return self.better is Better.HIGHER

    def back(self, ends: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return a mean and the ends of its interval in the printed unit.

        `ends`: value, low and high; of reciprocals if larger values are better.
        """
        value, low, high = ends
        if not self.higher:
            return ends
        return 1.0 / value, 1.0 / high, 1.0 / low if low > 0 else math.inf

    @property
    def path(self) -> tuple[str | int, ...] | None:
        """The steps into JSON; None for a pattern."""
        return path(self.spec.removeprefix(PREFIX)) if self.spec.startswith(PREFIX) else None

    @property
    def exact(self) -> bool:
        """Whether equal work gives equal values, so that they are compared without statistics."""
        return self.spec == CALLGRIND

    @property
    def quantity(self) -> str | None:
        """The name of the quantity that the agent measures; None for a number that the program prints."""
        if self.spec == INSTRUCTIONS:
            return COUNTER + INSTRUCTIONS
        return self.spec if _QUANTITY.fullmatch(self.spec) else None

    def to_wire(self) -> dict[str, Json]:
        """Return the members that the agent needs (docs/reference/protocol.md)."""
        if self.exact:
            from becalm.nouns.callgrind import COUNTED  # Most metrics do not need it.

            return {"pattern": COUNTED, "take": str(Take.SUM), "stream": "stderr"}
        if (quantity := self.quantity) is not None:
            return {"quantity": quantity}
        if (steps := self.path) is not None:
            return {"json": list(steps)}
        return {"pattern": self.spec, "take": str(self.take)}


_MORE = re.compile(r",(unit|better|take|name)=([^,]*)$")

_QUANTITY = re.compile(r"(time|memory|faults|switches|counter|energy):[a-z-]*")
"""The form of the names of quantities, which no pattern with a group has."""

_STEP = re.compile(r"""\.?(?P<member>[^.\[\]"]+)|\["(?P<quoted>[^"]+)"\]|\[(?P<place>-?\d{1,9})\]""")


def path(text: str) -> tuple[str | int, ...]:
    """Return the steps of a path into JSON: `results[0].p99`, `$.results.p99`, `["99.0"]`. Raises UsageError."""
    at = 1 if text.startswith("$") else 0
    steps: list[str | int] = []
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            steps = []
            break
        steps.append(int(match["place"]) if match["place"] else match["member"] or match["quoted"])
        at = match.end()
    if not steps:
        raise UsageError(
            f"{brief(text)} is not a path into JSON. Write members after dots and places in brackets: "
            'json:results[0].p99, json:latency["99.0"].'
        )
    return tuple(steps)


def metric(text: str | Metric) -> Metric:
    """Return the metric of a text. Raises UsageError; the agent checks whether a pattern is valid."""
    if isinstance(text, Metric):
        return text
    spec, more = text, {}
    while (match := _MORE.search(spec)) is not None:
        if match[1] in more:
            raise UsageError(f"The metric {brief(text)} has {match[1]}= twice. Leave one out.")
        more[match[1]] = match[2].strip()
        spec = spec[: match.start()]
    if not spec.strip() or spec == PREFIX:
        raise UsageError(f"The metric {brief(text)} does not locate the number. Write it like {EXAMPLE}.")
    if spec in (INSTRUCTIONS, CALLGRIND):
        if more.keys() & {"unit", "take"}:
            raise UsageError(f"{spec} is a count without a unit: leave out unit= and take=.")
        return Metric(spec, more.get("name") or "instruction count", better=_better(more))
    if _QUANTITY.fullmatch(spec):
        row = _quantity(spec)
        if more.keys() & {"unit", "take"}:
            raise UsageError(f"{spec} has a unit of its own: leave out unit= and take=.")
        better = _better(more)
        return Metric(spec, more.get("name") or row.title, row.unit, better)
    if not spec.startswith(PREFIX) and not re.search(r"(?<!\\)\((?!\?)|\(\?P?<[A-Za-z]", spec):
        raise UsageError(
            f"The metric's pattern {brief(spec)} has no group around the number: 'Time: ([0-9.]+)'. "
            "A path into JSON is written json:results.p99."
        )
    better, take = _better(more), more.get("take", "last")
    if take not in [*Take]:
        raise UsageError(
            f"take= chooses the first match, the last or the sum of all, not {brief(take)}: write take=first."
        )
    if "take" in more and spec.startswith(PREFIX):
        raise UsageError("take= applies to patterns only: a path into JSON leads to one number. Leave out take=.")
    name = more.get("name") or _name(spec)
    return Metric(spec, name, more.get("unit", ""), better, Take(take))


def _better(more: Mapping[str, str]) -> Better:
    better = more.get("better", "lower")
    if better not in [*Better]:
        raise UsageError(f"A metric is better when it is lower or higher, not {brief(better)}: write better=higher.")
    return Better(better)


def _quantity(spec: str) -> Quantity:
    """Return the quantity of a name. Raises UsageError with the names of its kind."""
    from becalm.nouns.tables import quantities  # Most metrics are printed, and need no table.

    quantity = next((row for row in quantities() if row.name == spec), None)
    if quantity is None:
        kind = spec.partition(":")[0] + ":"
        known = ", ".join(row.name for row in quantities() if row.name.startswith(kind))
        raise UsageError(f"There is no metric {brief(spec)}. There are: {known}.")
    return quantity


def _name(spec: str) -> str:
    """Return the name of a metric: the last member of a path, or the words before the group of a pattern."""
    if spec.startswith(PREFIX):
        members = [step for step in path(spec.removeprefix(PREFIX)) if isinstance(step, str)]
        return members[-1] if members else "metric"
    before = re.split(r"(?<!\\)\(", spec)[0]
    words = re.findall(r"[A-Za-z][\w./%-]*", re.sub(r"\\[a-zA-Z]|\[[^\]]*\]", " ", before))
    return " ".join(words) or "metric"


def are_valid(values: Iterable[float]) -> bool:
    """Return whether values are valid for metrics: within LEAST and MOST; all but the first may be 0, too."""
    return all(LEAST <= value <= MOST or (value == 0 and place > 0) for place, value in enumerate(values))


def metrics(specs: str | Metric | Sequence[str | Metric]) -> tuple[Metric, ...]:
    """Return the metrics of one text or several; the first is the compared one. Raises UsageError for equal names."""
    result = tuple(metric(spec) for spec in ([specs] if isinstance(specs, (str, Metric)) else specs))
    for index, candidate in enumerate(result):
        if candidate.name in [other.name for other in result[:index]]:
            raise UsageError(f"Two metrics are called {brief(candidate.name)}. Give one another name: ,name=NAME.")
    return result


class Tasks(msgspec.Struct, frozen=True):
    """The amount of work of one run: the `count` of a unit, `what`, such as 800000 messages."""

    count: float
    what: str = "tasks"


def tasks(value: str | float | Tasks) -> Tasks:
    """Return the work of a number, or of a text with a number and a unit. Raises UsageError."""
    if isinstance(value, Tasks):
        return value
    if isinstance(value, str):
        # The unit begins with a letter: the number of "800 000 messages" is 800000.
        number, what = re.fullmatch(r"\s*([-+0-9.,'_\s]*(?:e[-+]?[0-9]+)?)(.*)", value, re.DOTALL).groups()  # type: ignore[union-attr]
        try:
            count = plain_number(number) if number.strip() else 0.0
        except UsageError as error:
            raise UsageError(f"--tasks: {error}") from None
    else:
        count, what = float(value), ""
    if not 0.0 < count < 1e18:
        raise UsageError(f"--tasks is a number above zero and what it counts, '800000 messages', not {value!r}.")
    return Tasks(count, " ".join(what.split()) or "tasks")


@dataclass(frozen=True, slots=True)
class Response:
    """The option that names the metrics of a program."""

    metrics: tuple[Metric, ...] = option(
        (),
        "Metric to judge instead of wall time; further ones are only recorded (docs/how-to/metrics.md).",
        str | Sequence[str],
        name="metric",
        metavar="SPEC",
        repeats=True,
        parse=metrics,
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Response:
        """Return the value for keyword arguments. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))


@dataclass(frozen=True, slots=True)
class Work:
    """The option that states the work of one run of a program."""

    tasks: Tasks | None = option(
        None,
        "Work of one run, to report a rate: 1000, or '800000 messages'.",
        float | str | None,
        metavar="N",
        parse=tasks,
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Work:
        """Return the value for keyword arguments. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))
