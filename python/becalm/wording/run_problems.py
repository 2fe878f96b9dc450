"""Sentences about runs that failed, left processes running or had other settings than requested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from becalm.wording.numbers import counted, duration

_HOOK = re.compile(r"The (setup|prepare|cleanup) command failed\. ")
"""The beginning of the agent's message that a hook failed."""


def failure(name: str, n: Mapping[str, Any]) -> str:
    """Return the sentence on why a run does not count, with advice, from the numbers of a "failure" finding."""
    status, outcome, stderr = n["status"], n["outcome"], n["stderr"]
    hook = _HOOK.match(stderr)
    if hook is not None and (outcome == "refused" or n.get("unread") or n.get("spoilt")):
        return f"The {hook[1]} command of {name} failed{_when(n)}. {stderr[hook.end() :].strip()}"
    if outcome == "timeout":
        how = f"did not end within its time limit and was killed after {duration(n['wall_ns'])}"
        hint = "Give it more time with --timeout, or a smaller input."
    elif outcome == "refused":
        how = "could not be started"
        hint = "See the message below." if stderr else "Check the command, and its setup and prepare commands."
    elif n.get("unread") or n.get("spoilt"):
        lines = stderr.strip().splitlines()
        first, rest = (lines[0], "\n".join(lines[1:])) if lines else ("", "")
        more = f"\nEnd of its standard error:\n{_indent(rest)}" if rest else ""
        problem = "its metric could not be read" if n.get("unread") else "its run does not count"
        return f"{name} ended well, but {problem}{_when(n)}. {first}{more}"
    elif status is not None and status < 0:
        how = f"was killed by signal {-status}{signal_name(-status)}"
        hint = "Run it by itself to see why."
    else:
        how = f"failed with exit code {status}"
        hint = f"If that is fine, use --expect 0,{status} (or --expect any)."
    output = f"\nEnd of its standard error:\n{_indent(stderr)}" if stderr.strip() else ""
    return f"{name} {how}{_when(n)}. {hint}{output}"


def _when(n: Mapping[str, Any]) -> str:
    after = f" in run {n['seq']}, after {counted(n['done'], 'good run')}" if n["done"] else ""
    return f"{after} (a warm-up run)" if n["warmup"] else after


def signal_name(number: int) -> str:
    """Return " (SIGKILL)" for 9, empty for a number without a name."""
    import signal

    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _indent(text: str, lines: int = 10) -> str:
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def left_behind(name: str, runs: int) -> str:
    """Return the sentence about descendants that outlived their program."""
    return (
        f"{name} left processes running in {counted(runs, 'run')}; they were killed when the run was over, and what "
        "they did afterwards is not in its times."
    )


def drift(change: Mapping[str, Any]) -> str:
    """Return the sentence about a setting that something else changed while becalm held it."""
    return (
        f"{change['knob']}: {change['place']} was changed to {change['found']!r} while it was set to "
        f"{change['wanted']!r}. "
        "The last runs were made with other settings than requested. A service may do that: `becalm doctor` names "
        "those that run; --set services=pause pauses them."
    )
