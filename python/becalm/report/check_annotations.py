"""Annotations of a check for what runs it: workflow commands of GitHub, a code quality report of GitLab.

GitHub takes commands from lines of the log ("Workflow commands", docs.github.com): a line end in a name would begin one
of its own, so data and properties are escaped as its own toolkit does (actions/toolkit, core/src/command.ts). GitLab
takes a JSON file of issues (docs.gitlab.com, "Code Quality report format").

Public: KINDS, chosen, github, gitlab.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from becalm.report.check import ordered
from becalm.results.check import CheckResult
from becalm.results.compare import Gate
from becalm.wording.check import change
from becalm.wording.printable import cut, printable

KINDS = ("auto", "github", "gitlab", "none")

MOST = 10
"""GitHub shows ten annotations of a kind and step; more are in the comment."""

SEVERITY = {Gate.ABOVE: ("error", "major"), Gate.UNDECIDED: ("warning", "minor")}
"""The names of an outcome for GitHub and GitLab; benchmarks within the limit are not mentioned."""


def chosen(kind: str, environment: Mapping[str, str]) -> str:
    """Return the service to annotate for: the one asked for, else the one that runs this, by its variables."""
    if kind != "auto":
        return kind
    if environment.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "gitlab" if environment.get("GITLAB_CI") == "true" else "none"


def github(result: CheckResult, file: str = "") -> str:
    """Return the lines for the log. `file`: what they point at, below the repository; empty for the whole."""
    return "".join(f"{line}\n" for line in _commands(result, file))


def _commands(result: CheckResult, file: str) -> Iterator[str]:
    counts = dict.fromkeys(SEVERITY, 0)
    for checked in ordered(result):
        if checked.gate not in SEVERITY or counts[checked.gate] == MOST:
            continue
        counts[checked.gate] += 1
        where = f"file={_property(file)},line=1," if file else ""
        title = _property(f"becalm: {cut(printable(checked.name), 80)}")
        said = _data(f"{cut(printable(checked.name), 200)}: {change(checked)}, {checked.gate}")
        yield f"::{SEVERITY[checked.gate][0]} {where}title={title}::{said}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(result: CheckResult, file: str = "") -> str:
    """Return the text of a code quality report. `file`: what it points at; it needs one."""
    issues = [
        {
            "description": f"{printable(checked.name)}: {change(checked)}, {checked.gate}",
            "check_name": "becalm",
            "fingerprint": hashlib.sha256(f"becalm {checked.name}".encode("utf-8", "surrogateescape")).hexdigest(),
            "severity": SEVERITY[checked.gate][1],
            "location": {"path": file or ".", "lines": {"begin": 1}},
        }
        for checked in ordered(result)
        if checked.gate in SEVERITY
    ]
    return json.dumps(issues, indent=2) + "\n"
