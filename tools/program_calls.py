"""Find the programs that a Python file calls by name, without running it."""

from __future__ import annotations

import ast
import re

CALLS = re.compile(r"(subprocess\.(run|Popen|check_call|check_output)|shutil\.which|os\.execvp?)")
"""Functions whose first argument is a program, or a list that begins with one."""
NEEDS = ("need", "needs")
"""The function and the mark of tests/needs.py, whose arguments are programs."""
MENTION = re.compile(r"\bneeds?\(|subprocess|shutil\.which|os\.exec")
"""The text of a file that may call a program; files without it need not be parsed."""


def called(text: str) -> list[tuple[int, str]]:
    """Return line and name of each program that a file calls by a literal name."""
    calls = []
    for node in ast.walk(ast.parse(text)) if MENTION.search(text) else ():
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function.rpartition(".")[2] in NEEDS:
                calls += [(node.lineno, program(argument)) for argument in node.args]
            elif CALLS.fullmatch(function) and node.args:
                first = node.args[0]
                words = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
                calls += [(node.lineno, program(word)) for word in words[:1]]
    return [(line, name) for line, name in calls if name]


def program(node: ast.expr) -> str:
    """Return the name of the program of a literal path, or the empty string."""
    return node.value.rpartition("/")[2] if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
