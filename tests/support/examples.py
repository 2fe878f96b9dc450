"""Command lines of becalm in the documents."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.places import ROOT

LINE = re.compile(r"\s*(\$ )?((?:sudo )?becalm\s.*)")
INLINE = re.compile(r"`((?:sudo )?becalm [^`]+)`")
USAGE = ("[OPTIONS]", "COMMAND [ARGS]", "becalm COMMAND")


@dataclass(frozen=True)
class Example:
    """A command line of a document. `block`: it stands in a block of code and is complete."""

    document: str
    line: int
    text: str
    block: bool

    @property
    def name(self) -> str:
        """The place and the text, as the name of a test."""
        return f"{self.document}:{self.line}: {self.text}"

    @property
    def bare(self) -> bool:
        """Whether the text names a verb only, as a sentence does."""
        return not self.block and len(self.words) < 2

    @property
    def words(self) -> tuple[str, ...]:
        """The words after `becalm`, up to a comment, a pipe, a redirection or another command of the shell."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|>&;")
        lexer.commenters, lexer.whitespace_split = "#", True
        words: list[str] = []
        for word in lexer:
            if re.fullmatch("[|>&;]+", word):
                break
            words.append(word)
        return tuple(words[words.index("becalm") + 1 :])


def documents() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the README and of every document."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield path.relative_to(ROOT).as_posix(), path.read_text()


def examples_of(document: str, text: str) -> Iterator[Example]:
    """Yield the command lines of a document, in order. Where a block has prompts, its other lines are output."""
    lines = text.splitlines()
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith("```")]
    blocks = [range(start + 1, end) for start, end in zip(fences[::2], fences[1::2], strict=True)]
    for block in blocks:
        prompted = any(lines[number].lstrip().startswith("$ ") for number in block)
        for number in block:
            if (match := LINE.fullmatch(lines[number])) and (match[1] or not prompted):
                yield Example(document, number + 1, match[2], True)
    inside = {number for block in blocks for number in block}
    for number, line in enumerate(lines):
        if number not in inside:
            for inline in INLINE.finditer(line):
                yield Example(document, number + 1, inline[1], False)


def examples() -> list[Example]:
    """Return the examples of all documents, each text once."""
    first: dict[str, Example] = {}
    for document, text in documents():
        for example in examples_of(document, text):
            if not any(usage in example.text for usage in USAGE):
                first.setdefault(example.text, example)
    return list(first.values())
