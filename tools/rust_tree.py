"""What can be read from the Rust of a tree by looking at braces and paths: functions and who uses whom.

No parser: comments and literals are blanked out, then braces match. Code behind `#[cfg(test)]` is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from python_tree import Graph

LITERALS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'""",
    re.DOTALL | re.VERBOSE,
)
FUNCTION = re.compile(r"\b(pub(?:\([\w\s:]+\))?\s+)?(?:(?:const|async|unsafe|extern(?:\s+\"\s*\")?)\s+)*fn\s+(\w+)")
TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:mod\s+\w+\s*)?")
PATH = re.compile(r"(?<![\w:])((?:crate|self|super)(?:::super)*|[a-z_]\w*)::([\w:]+|\{)")
USE = re.compile(r"\b(pub(?:\([\w\s:]+\))?\s+)?use\s+([^;]+);")


def blanked(text: str) -> str:
    """The code with comments and literals replaced by blanks; lines and columns stay where they are."""
    return LITERALS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def closing(text: str, start: int, pair: str = "{}") -> int:
    """Where the bracket that opens at `start` closes."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return at
    return len(text)


def code(path: Path) -> str:
    """The code of a file without comments, literals and tests."""
    text = blanked(path.read_text())
    while match := TESTS.search(text):
        opens, ends = text.find("{", match.end()), text.find(";", match.end())
        last = ends if opens < 0 or 0 <= ends < opens else closing(text, opens)
        text = text[: match.start()] + re.sub(r"[^\n]", " ", text[match.start() : last + 1]) + text[last + 1 :]
    return text


def sources(crate: Path) -> list[Path]:
    """Files of a crate that are no tests."""
    return [
        path
        for path in sorted((crate / "src").rglob("*.rs"))
        if "tests" not in path.relative_to(crate).with_suffix("").parts
    ]


def functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, lines from signature to closing brace, and number of parameters without `self`, of each function."""
    text = code(path)
    for match in FUNCTION.finditer(text):
        opens = text.find("(", _after_generics(text, match.end()))
        ends = closing(text, opens, "()")
        body = re.compile(r"[{;]").search(text, ends)
        if body is None or body[0] == ";":
            continue
        parameters = _split(text[opens + 1 : ends])
        width = len([each for each in parameters if not re.fullmatch(r"(&\s*('\w+\s+)?)?(mut\s+)?self(:.*)?", each)])
        yield match[2], text.count("\n", match.start(), closing(text, body.start())) + 1, width


def _after_generics(text: str, at: int) -> int:
    return closing(text, at, "<>") if text[at : at + 1] == "<" else at


def _split(text: str) -> list[str]:
    """Parts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{<") - (sign in ")]}>")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _module(path: Path, source: Path) -> tuple[str, ...]:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _leaves(text: str) -> Iterator[list[str]]:
    """The single paths of a use declaration: `a::{b, c::d}` is a::b and a::c::d."""
    text = " ".join(text.split())
    head, brace, rest = text.partition("{")
    if not brace:
        yield re.sub(r"\s+as\s+\w+$", "", text).replace(" ", "").split("::")
        return
    for each in _split(rest.rpartition("}")[0]):
        for leaf in _leaves(each):
            yield [*(part for part in head.replace(" ", "").split("::") if part), *leaf]


def uses(crate: Path) -> Graph:
    """Which module names which other, in a use declaration or in a path.

    A name that a parent only hands on (`pub use`) counts as that of the module that has it, and handing on is no use.
    """
    source = crate / "src"
    known = {_module(path, source): path for path in sources(crate)}
    texts = {name: code(path) for name, path in known.items()}
    handed = {name: dict(_handed_on(name, text, known)) for name, text in texts.items()}
    graph: dict[tuple[str, ...], set[tuple[str, ...]]] = {name: set() for name in known}
    for name, text in texts.items():
        declared = [leaf for match in USE.finditer(text) if not match[1] for leaf in _leaves(match[2])]
        plain = USE.sub(" ", text)
        paths = declared + [[*match[1].split("::"), *match[2].split("::")] for match in PATH.finditer(plain)]
        for path in paths:
            found = _resolve(name, path, known, handed)
            if found is not None and found != name:
                graph[name].add(found)
    return {"::".join(name) or "crate": {"::".join(each) or "crate" for each in found} for name, found in graph.items()}


def _absolute(name: tuple[str, ...], path: list[str], known: dict[tuple[str, ...], Path]) -> tuple[str, ...] | None:
    """A path from the crate's root, or None if it is another crate's or a local name."""
    here, rest = name, list(path)
    if rest[0] == "crate":
        here, rest = (), rest[1:]
    elif rest[0] in ("self", "super"):
        rest = rest[1:] if rest[0] == "self" else rest
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
    elif (*name, rest[0]) not in known:
        return None
    return (*here, *rest)


def _resolve(
    name: tuple[str, ...],
    path: list[str],
    known: dict[tuple[str, ...], Path],
    handed: dict[tuple[str, ...], dict[str, tuple[str, ...]]],
) -> tuple[str, ...] | None:
    full = _absolute(name, path, known)
    if full is None:
        return None
    home = full
    while home not in known:
        home = home[:-1]
    rest = full[len(home) :]
    return handed[home].get(rest[0], home) if rest else home


def _handed_on(
    name: tuple[str, ...], text: str, known: dict[tuple[str, ...], Path]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for match in USE.finditer(text):
        if match[1]:
            for leaf in _leaves(match[2]):
                home = full = _absolute(name, leaf, known)
                while home is not None and home not in known:
                    home = home[:-1]
                if home is not None and full is not None:
                    yield full[-1], home
