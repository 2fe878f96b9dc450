"""The options of `mcp`: the consent of the person who starts the server, and the host on which it acts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from becalm.errors import UsageError
from becalm.nouns.option import option
from becalm.units import duration_ns


class Consent(IntEnum):
    """A degree of consent; each includes those before it.

    LOOK: read the machine and the store. MEASURE: run programs. PROCESS: change settings of these programs. LIVE:
    change settings of the machine, until the server ends. BOOT: prepare settings for its next start.
    """

    LOOK = 0
    MEASURE = 1
    PROCESS = 2
    LIVE = 3
    BOOT = 4

    @classmethod
    def of(cls, text: str) -> Consent:
        """Return the degree of a word. Raises UsageError."""
        if text.upper() not in cls.__members__:
            raise UsageError(f"--allow takes {', '.join(degree.word for degree in cls)}, not {text!r}.")
        return cls[text.upper()]

    @property
    def word(self) -> str:
        """The word on the command line."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """The consent, the budget and the host of a server. A coding agent cannot change them."""

    allow: Consent = option(
        "look",
        "What the agent may do; each level includes those before it.",
        str,
        choices=tuple(degree.word for degree in Consent),
        parse=Consent.of,
    )
    budget_ns: int = option(
        "30min",
        "Time budget of all measurements together.",
        float | str,
        name="budget",
        unit="seconds",
        metavar="DURATION",
        shown="30min",
        parse=duration_ns,
    )
