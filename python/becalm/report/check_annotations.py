"""Annotations of a check for the service that runs it: workflow commands for GitHub, a quality report for GitLab.

GitHub takes commands from lines of the log ("Workflow commands", docs.github.com). A line end in a name would begin
another command, so data and properties are escaped as GitHub's own toolkit does (actions/toolkit, core/src/command.ts).
GitLab takes a JSON file of issues (docs.gitlab.com, "Code Quality report format").

Public: KINDS, service, github, gitlab.
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
"""The number of annotations of one kind that GitHub shows for a step; the comment has all benchmarks."""

SEVERITY = {Gate.ABOVE: ("error", "major"), Gate.UNDECIDED: ("warning", "minor")}
"""The severity of an outcome for GitHub and for GitLab; benchmarks within the limit have none."""


def service(kind: str, environment: Mapping[str, str]) -> str:
    """Return the service to annotate for: the requested one, or the one that runs this, by its variables."""
    if kind != "auto":
        return kind
    if environment.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "gitlab" if environment.get("GITLAB_CI") == "true" else "none"


def github(result: CheckResult, file: str = "") -> str:
    """Return the lines for the log. `file`: the path that they point at, in the repository; empty for none."""
    return "".join(f"{line}\n" for line in _commands(result, file))


def _commands(result: CheckResult, file: str) -> Iterator[str]:
    counts = dict.fromkeys(SEVERITY, 0)
    for checked in ordered(result):
        if checked.gate not in SEVERITY or counts[checked.gate] == MOST:
            continue
        counts[checked.gate] += 1
        where = f"file={_property(file)},line=1," if file else ""
        title = _property(f"becalm: {cut(printable(checked.name), 80)}")
        message = _data(f"{cut(printable(checked.name), 200)}: {change(checked)}, {checked.gate}")
        yield f"::{SEVERITY[checked.gate][0]} {where}title={title}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(result: CheckResult, file: str = "") -> str:
    """Return the text of a code quality report. `file`: the path that its issues point at."""
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
