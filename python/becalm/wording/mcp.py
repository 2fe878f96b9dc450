"""Sentences of `becalm mcp`: for the agent that calls its tools, and for the person who started it."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.units import join_names
from becalm.wording.numbers import spent

INSTRUCTIONS = """\
becalm measures programs and tunes systems on this machine so that the answer can be trusted. Use `run` for one program
and `compare` for two or more: they interleave runs and give intervals; trust their sentence rather than single runs.
`doctor` reports what disturbs measurements here. `check` decides whether a change is slower than a limit. `tune` first
returns a plan with its time and risk, and a token; show the plan to the user, then call it again with the token.
`apply` changes settings until `reset`, or until this server ends, which restores them. Answers name their study, which
`explain` reads. What the user did not permit is refused, with the option that permits it."""


def consent(action: str, word: str) -> str:
    """Return the refusal of an action that the user has not permitted."""
    return (
        f"The user has not permitted to {action}. Nothing was changed. The user can: restart the server with "
        f"becalm mcp --allow {word}"
    )


def budget_used(total_ns: int) -> str:
    """Return the refusal of a measurement when no measuring time is left."""
    return (
        f"The {spent(total_ns)} of measuring that the user permits are used up. Nothing was measured. The user can: "
        "restart the server, with --budget for more time."
    )


BUSY = "Another call of a tool is under way. Wait for its result, or cancel it."

CANCELLED = "Cancelled before it began. Nothing was measured or changed."


def budget_left(left_ns: int) -> str:
    """Return how much measuring time is left."""
    return f"{spent(left_ns)} of measuring time are left."


def applied(names: Sequence[str], skipped: int) -> str:
    """Return the settings that were applied."""
    more = (
        f" {skipped} that this machine does not have {'was' if skipped == 1 else 'were'} left out." if skipped else ""
    )
    return (
        f"Applied {join_names(names)}.{more} They stay until reset, and are restored when this server ends."
        if names
        else f"Nothing was changed: the machine has these values already.{more}"
    )


def would_apply(names: Sequence[str]) -> str:
    """Return the settings that would be applied."""
    return f"Would set {join_names(names)}. Nothing was changed." if names else "Nothing would change."


APPLIED_ALREADY = "This server has settings applied. Call reset first, so that both are not mixed."

NOTHING_APPLIED = "This server has no settings applied; nothing was changed."

RESTORED = "Everything that this server had applied is restored."


def not_restored(places: Sequence[str]) -> str:
    """Return what to do where something is not as it was before; `places`: a sentence for each."""
    return " ".join(["Not everything could be restored:", *places, "Call reset again."])


def only_for_programs(name: str) -> str:
    """Return the refusal to apply to the machine a setting that belongs to a process."""
    return (
        f"{name} acts on one program: give it to run, compare or check as one of their settings. Nothing was changed."
    )


def defect(error: Exception) -> str:
    """Return the sentence about an error that becalm does not raise on purpose."""
    return (
        f"This is a defect in becalm, not in your call: {type(error).__name__}: {error}. What was measured is in the "
        "store; what was applied is restored when this server ends."
    )


def planned(cost: str, knobs: Sequence[str], dangerous: bool) -> str:
    """Return the plan of a search, with its risk."""
    effect = f"It may change {join_names(knobs)}" if knobs else "It changes no setting"
    risk = ", among them settings that can make the machine slow, hot or hard to reach" if dangerous else ""
    return (
        f"{cost} {effect}{risk}. Each setting is restored after its runs, also when the search is killed. Nothing has "
        "been searched yet: call tune with the token to start."
    )


BAD_TOKEN = (
    "There is no plan with this token: it was used, is older than ten minutes, or a newer plan has replaced it. Ask "
    "for a new plan."
)

TOKEN_ALONE = "With a token the options are those of its plan: leave the others out."


def together(sentence: str, findings: Sequence[str]) -> str:
    """Return the text of an answer: its sentence, then each finding that the sentence does not contain, on a line."""
    return "\n".join((sentence, *(f"• {finding}" for finding in findings if finding not in sentence)))
