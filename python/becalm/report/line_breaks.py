"""Where lines of a report break and end: a path breaks after slashes, and lines in a pipe do not end with spaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

_COMPONENT = re.compile("[^/]*/|[^/]+")


class Path:
    """A path in a table, which breaks after slashes."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths of the longest component and of the whole path."""
        return Measurement(max(map(cell_len, self._components()), default=0), cell_len(self.path))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the lines of the path in rich's protocol."""
        line = ""
        for component in self._components():
            if line and cell_len(line + component) > options.max_width:
                yield Text(line)
                line = ""
            line += component
        yield Text(line, overflow="fold")

    def _components(self) -> list[str]:
        root = "/" if self.path.startswith("/") else ""
        components = _COMPONENT.findall(self.path.removeprefix("/")) or [""]
        return [root + components[0], *components[1:]]


class Trimmed:
    """A renderable without the spaces at the ends of its lines."""

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments in rich's protocol."""
        lines = Segment.split_lines_terminator(console.render(self.renderable, options))
        for line, ended in lines:
            yield from _trimmed(line)
            if ended:
                yield Segment.line()


def _trimmed(line: Iterable[Segment]) -> list[Segment]:
    segments = list(line)
    while segments and not segments[-1].control:
        last = segments.pop()
        if text := last.text.rstrip(" "):
            return [*segments, Segment(text, last.style)]
    return segments
