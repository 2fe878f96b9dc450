"""Check the first words of docstrings, the names of variables and the names of tests.

python tools/check_words.py             # prints file:line: rule: message for each violation
python tools/check_words.py PATH …      # only for files whose path begins with one of these
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("python", "tools", "bench", "tests", "crates")


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


RELATIVE = words("Of What Whatever Who Whoever Whom Whose So That Those Which As How")
"""The first words that make a docstring depend on the line next to it."""
VERBS = words(
    """Abort Accept Accumulate Add Adjust Advance Allocate Allow Analyse Answer Append Apply Approximate Arm
    Arrange Ask Assemble Assert Assign Attach Average Balance Begin Bin Bind Boot Bound Bring Build Cache
    Calculate Call Cancel Carry Centre Chain Change Check Choose Classify Clear Climb Close Code Collect Combine
    Commit Compare Compile Complete Compose Compute Conduct Configure Confirm Connect Construct Continue Convert
    Copy Count Cover Create Credit Cut Decide Declare Decode Decorate Define Delay Delete Derive Describe Design
    Detach Detail Detect Determine Discard Display Distribute Disturb Divide Do Download Draft Drain Draw Drop
    Emit Empty Enable Encode End Enter Escape Estimate Evaluate Evict Exchange Execute Exit Expand Explain
    Export Express Extend Extract Feed Fetch Fill Filter Find Finish Fit Flag Flush Fold Follow Forget Format
    Forward Generate Get Give Go Group Grow Guard Halve Handle Hash Have Hide Hold Identify Ignore Import
    Include Infer Initialise Insert Install Integrate Interpolate Interpret Interrupt Invert Invoke Iterate Join
    Judge Keep Kill Label Lay Lead Leak Learn Leave Let Limit Link List Listen Load Locate Lock Look Loop Lower
    Make Map Mark Match Measure Merge Migrate Minimise Mount Move Multiply Name Narrow Normalise Notify Observe
    Offer Open Order Own Pack Parse Pass Pause Perform Permit Permute Pick Pin Place Play Plot Poll Pool Predict
    Prepare Press Print Probe Process Produce Profile Propose Provide Put Query Quote Raise Rank Rate Reach Read
    Rebuild Recommend Reconnect Record Reduce Refuse Register Reject Relate Release Remember Remove Rename
    Render Renew Reorder Repeat Replace Replay Report Request Require Reserve Reset Resolve Restart Restore
    Resume Retry Return Reverse Rewrite Round Run Salvage Sample Save Scale Search See Seed Select Send Separate
    Serve Set Settle Shift Show Shrink Shuffle Sign Signal Simulate Skip Sleep Solve Sort Spawn Spell Split
    Stall Standardise Start State Stop Store Stream Stretch Strip Subtract Suggest Sum Summarise Supply Suspend Swap
    Sweep Switch Tag Take Tell Terminate Test Thin Throttle Trace Track Train Transform Translate Treat Trim
    Truncate Try Tune Turn Type Undo Unlock Unmount Unpack Update Upgrade Upload Use Validate Verify Visit Wait Wake
    Walk Warn Watch Weigh Widen Withdraw Wrap Write Yield"""
)
"""The first words of a function's docstring. Add a verb that is missing."""
NO_NOUNS = words(
    """About Above After Around At Before Below Beside Between By During For From In Into On Outside Over Through To
    Under Until Up Where While With Within Without When Why Again Also But If It Its Our Their There These They This
    Each Everybody Everything Nobody None Nothing One Somebody Something Applied Asked Built Counted Found Given Kept
    Known Made Said Taken Told Applies Asks Cuts Finds Gives Has Inherits Keeps Knows Listens Makes Opens
    Passes Raised Refused Remembers Says Takes Tells Waits Writes Is"""
)
"""The first words that a docstring of a class, a property or a constant cannot have."""
VAGUE = words("found made given told said kept asked each thing one")
"""Names of variables that do not tell what a value is."""

ADVICE = {
    "relative": "'{}' does not begin a sentence that stands alone",
    "verb": "a function's docstring begins with a verb (Return, Raise, Yield …), not with '{}'",
    "noun": "a docstring of a class, property or constant begins with an article or a noun, not with '{}'",
    "name": "'{}' does not tell what the value is; use the noun of its type",
    "test": "{} does not tell what is tested; state the behaviour",
}
"""The message for each rule."""

TEST = re.compile(r"test_(what|who)(ever|m|se)?_")
RUST = re.compile(r"\s*(//[/!])(?!/)(.*)")
Problem = tuple[int, str, str]
"""A line number, a rule and the word that breaks it."""


def check_docstring(line: int, text: str, rule: str) -> Iterator[Problem]:
    """Yield the problem of a docstring; the rule "verb" or "noun" tells what it begins with, "" allows both."""
    word = (text.split() or [""])[0].rstrip(",.:;")
    if word in RELATIVE:
        yield line, "relative", word
    elif (rule == "verb" and word not in VERBS) or (rule == "noun" and word in NO_NOUNS):
        yield line, rule, word


def rule_of(node: ast.AST) -> str:
    """Return "verb" for a function, "noun" for a class, property or fixture, "" for a module or a test."""
    if isinstance(node, ast.ClassDef):
        return "noun"
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("test_"):
        return ""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return "noun" if any(re.match(r".*(property|fixture|\.setter)\b", name) for name in decorators) else "verb"


def string_after(before: ast.stmt, after: ast.stmt) -> str | None:
    """Return the string that follows an assignment as its docstring, or None."""
    match before, after:
        case ((ast.Assign() | ast.AnnAssign()), ast.Expr(value=ast.Constant(value=str(text)))):
            return text
    return None


def check_python(tree: ast.Module) -> Iterator[Problem]:
    """Yield each problem of a Python file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if (text := ast.get_docstring(node)) is not None:
                yield from check_docstring(node.body[0].lineno, text, rule_of(node))
            for before, after in itertools.pairwise(node.body):
                if (text := string_after(before, after)) is not None:
                    yield from check_docstring(after.lineno, text, "noun")
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, "name", node.arg
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield node.lineno, "name", node.id
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and TEST.match(node.name):
            yield node.lineno, "test", node.name


def check_rust(text: str) -> Iterator[Problem]:
    """Yield each problem of the first lines of documentation comments in a Rust file."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        match = RUST.match(line)
        if match and match[1] != before:
            yield from check_docstring(number, match[2], "")
        before = match[1] if match else ""


def violations(root: Path) -> dict[str, list[Problem]]:
    """Return the problems of each file of a checkout, by its path."""
    problems = {}
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.*")):
        if path.suffix == ".py":
            problems[path.relative_to(root).as_posix()] = sorted(check_python(ast.parse(path.read_text())))
        elif path.suffix == ".rs":
            problems[path.relative_to(root).as_posix()] = list(check_rust(path.read_text()))
    return problems


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Print the problems, all or those of the paths that the arguments begin with, and return the exit code."""
    lines = [
        f"{name}:{line}: {rule}: {ADVICE[rule].format(word)}"
        for name, problems in violations(root).items()
        for line, rule, word in problems
        if not arguments or name.startswith(tuple(arguments))
    ]
    for text in lines:
        print(text)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
