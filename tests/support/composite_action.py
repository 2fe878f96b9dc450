"""A composite action of GitHub, run step by step as the runner does: expressions, conditions, output files, bash.

Only what action.yml uses of the expressions' language is there; anything else raises. Steps that use other actions are
not run: their inputs are recorded, and a test gives their outputs.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests.places import ROOT


@dataclass
class Step:
    """A step that ran: its exit code, output and outputs; `used` and `arguments` for one that is another action."""

    name: str
    code: int = 0
    text: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


class CompositeAction:
    """Runs action.yml in a folder. `github`: the context of that name; `answers`: outputs of other actions by step."""

    def __init__(self, folder: Path, path: str, github=None, answers=None, **environment: str):
        self.action = yaml.safe_load((ROOT / "action.yml").read_text())
        self.folder, self.path, self.environment = folder, path, environment
        self.temporary = folder / "runner temp"
        self.temporary.mkdir(exist_ok=True)
        self.answers = answers or {}
        self.context = {"runner.temp": str(self.temporary), **{f"github.{k}": v for k, v in (github or {}).items()}}
        self.steps: dict[str, Step] = {}

    def run(self, **inputs: str) -> dict[str, Step]:
        """Run all steps whose condition holds, until one fails; those with always() run nevertheless."""
        for name, spec in self.action["inputs"].items():
            default = self.filled(spec.get("default", ""))
            self.context[f"inputs.{name}"] = inputs.pop(name.replace("-", "_"), default)
        assert not inputs, f"unknown inputs: {inputs}"
        good = True
        for number, spec in enumerate(self.action["runs"]["steps"]):
            condition = spec.get("if", "")
            if not (good or "always()" in condition) or not self.holds(condition):
                continue
            step = self.step(spec, spec.get("id", f"step {number}"))
            self.steps[step.name] = step
            good = good and (step.code == 0 or spec.get("continue-on-error", False))
        return self.steps

    def step(self, spec, name: str) -> Step:
        """Run one step."""
        if "uses" in spec:
            arguments = {key: self.filled(str(value)) for key, value in spec.get("with", {}).items()}
            return Step(name, used=spec["uses"], arguments=arguments, outputs=self.answers.get(name, {}))
        assert spec["shell"] == "bash"
        files = {key: self.folder / f"{name} {key}" for key in ("GITHUB_OUTPUT", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        script = self.folder / f"{name}.sh"
        script.write_text(spec["run"])
        environment = {
            "PATH": self.path,
            "HOME": str(self.folder),
            "RUNNER_TEMP": str(self.temporary),
            **{key: str(file) for key, file in files.items()},
            **self.environment,
            **{key: self.filled(str(value)) for key, value in spec.get("env", {}).items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.path = f"{line}:{self.path}"
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return Step(name, done.returncode, done.stdout + done.stderr, outputs)

    def filled(self, text: str) -> str:
        """Return a text with its expressions replaced by their values."""
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda match: self.value(match[1]), text)

    def value(self, expression: str) -> str:
        """Return the value of a name of a context; of one that is not set it is empty, as on GitHub."""
        if match := re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expression):
            step = self.steps.get(match[1])
            return step.outputs.get(match[2], "") if step else ""
        if not re.fullmatch(r"(?:inputs|github|runner)\.[\w.-]+", expression):
            raise ValueError(f"{expression} is not understood here.")
        return self.context.get(expression, "")

    def holds(self, condition: str) -> bool:
        """Return whether a condition of comparisons joined by && holds."""
        parts = [part.strip() for part in condition.split("&&") if part.strip() and part.strip() != "always()"]
        for part in parts:
            match = re.fullmatch(r"(\S+) (==|!=) (\S+)", part)
            if match is None:
                raise ValueError(f"{part} is not understood here.")
            left, right = (word[1:-1] if word[0] == "'" else self.value(word) for word in (match[1], match[3]))
            if (left == right) != (match[2] == "=="):
                return False
        return True
