"""Tables of the inputs and outputs of the action for GitHub and of the template for GitLab, from these files.

Public: action_inputs, action_outputs, gitlab_inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from markdown import code, table

ROOT = Path(__file__).parents[1]


def _default(value: object) -> str:
    if isinstance(value, str) and value.startswith("${{"):
        return "that of the job"
    return {True: "`true`", False: "`false`"}[value] if isinstance(value, bool) else code(value or "")


def _inputs(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (code(name), spec["description"], _default(spec["default"]) if "default" in spec else "(required)")
        for name, spec in inputs.items()
    ]
    return table(("input", "meaning", "default"), rows)


def action_inputs() -> str:
    """Return the inputs of action.yml."""
    return _inputs(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"])


def action_outputs() -> str:
    """Return the outputs of action.yml."""
    outputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["outputs"]
    return table(("output", "meaning"), [(code(name), spec["description"]) for name, spec in outputs.items()])


def gitlab_inputs() -> str:
    """Return the inputs of templates/check.yml."""
    head, _ = yaml.safe_load_all((ROOT / "templates/check.yml").read_text(encoding="utf-8"))
    return _inputs(head["spec"]["inputs"])
