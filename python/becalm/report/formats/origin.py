"""When and where the runs of a foreign file were measured, as far as the file records it.

A date without a time zone is read as local time of this machine, or as its tool writes it, and reported, since a wrong
hour would assign the wrong load to runs. Nothing is inferred for one run from another, nor from the file for its runs.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

import msgspec

from becalm.nouns.finding import Finding
from becalm.report.revision import UNKNOWN, Revision
from becalm.wording.findings import finding

LATEST_NS = 1 << 62
"""The latest time at which something can have been measured, in the year 2116."""

OLD_DATE = "%Y/%m/%d-%H:%M:%S"
"""The form of dates of Google Benchmark before 1.5."""


@dataclass(slots=True)
class Dates:
    """The dates of a file. `utc`: whether dates without a zone are UTC, as the tool writes them, not local time."""

    utc: bool = False
    assumed: list[datetime.datetime] = field(default_factory=list)
    """The dates that were read as local time."""

    def ns(self, text: Any) -> int:
        """Return a date in ns since the epoch; 0 where there is none, or it is before 1970."""
        moment = _moment(text)
        if moment is None:
            return 0
        if moment.tzinfo is None:
            if self.utc:
                moment = moment.replace(tzinfo=datetime.UTC)
            else:
                self.assumed.append(moment)
        try:
            ns = int(moment.timestamp() * 1e9)
        except (OverflowError, ValueError, OSError):
            return 0
        return ns if 0 < ns < LATEST_NS else 0

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding where dates were read as local time."""
        if not self.assumed:
            return ()
        first = min(self.assumed)
        try:
            offset = f"{first.astimezone():%z}"
        except (OverflowError, ValueError, OSError):
            return ()
        return (
            finding("local_time", {"first": f"{first:%Y-%m-%d %H:%M:%S}", "offset": f"{offset[:3]}:{offset[3:5]}"}),
        )


def _moment(text: Any) -> datetime.datetime | None:
    if not isinstance(text, str):
        return None
    for read in (datetime.datetime.fromisoformat, lambda value: datetime.datetime.strptime(value, OLD_DATE)):
        try:
            return read(text.strip())
        except ValueError:
            continue
    return None


def facts_of(hostname: Any, cpu: Any = None) -> dict[str, Any]:
    """Return the facts about the machine that a file names; empty where it names none."""
    facts: dict[str, Any] = {}
    if isinstance(hostname, str) and hostname:
        facts["host"] = {"hostname": hostname[:200]}
    if isinstance(cpu, str) and cpu:
        facts["cpu"] = {"model": cpu[:200]}
    return facts


class FileOrigin(msgspec.Struct, frozen=True):
    """The origin of a file: facts about its machine, its time, assumptions about it, and the code it measured."""

    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    created_ns: int | None = None
    noticed: tuple[Finding, ...] = ()
    revision: Revision = UNKNOWN
