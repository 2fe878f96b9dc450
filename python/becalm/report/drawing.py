"""Pictures as SVG to be put into a page: drawn by matplotlib, coloured by the page.

Text stays text, so that it can be read aloud, searched and enlarged; every colour is a name that the page's style
sheet defines for light and dark (`page.css`). matplotlib is imported here alone, when a picture is asked for.

Public: figure, Margins, fit, svg, plain_ticks, and the colours.
"""

from __future__ import annotations

import html
import io
import math
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from becalm.wording.printable import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, FAINT, BEFORE, AFTER, OTHER, ALARM = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
"""Colours that matplotlib writes and `svg` replaces by the page's names; near black, should a page have none."""

NAMES = {INK: "ink", FAINT: "faint", BEFORE: "before", AFTER: "after", OTHER: "other", ALARM: "alarm"}

WIDTH = 7.4
"""Inches of 72 units of a picture as wide as the page."""

HALF, THIRD = 3.62, 2.35
"""The same of pictures that stand two and three beside each other, and below each other on a phone."""

REM = 57.5 / WIDTH
"""The inches per rem of the page's column, which is 57.5 rem wide (page.css)."""

EM = 9.5 / 72
"""The size of the letters in inches."""

TICKS = ((2.5, (1, 2, 5)), (4.0, (1, 3)), (math.inf, (1,)))
"""The multiples of powers of ten that have ticks, by the number of decades below which they apply."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Room for ticks and labels in inches: around one row of axes, and `between` two of them."""

    left: float
    right: float
    bottom: float
    top: float
    between: float = 0.0

    def shares(self, width: float, height: float, columns: int) -> dict[str, float]:
        """Return matplotlib's form: edges as shares of the picture, the space between as one of an axis' width."""
        axis = (width - self.left - self.right - (columns - 1) * self.between) / columns
        return {
            "left": self.left / width,
            "right": 1 - self.right / width,
            "bottom": self.bottom / height,
            "top": 1 - self.top / height,
            "wspace": self.between / axis,
        }


def _plain(value: float, _: object) -> str:
    return f"{value:.4g}" if value >= 1e-4 else f"{value:.0e}"


def plain_ticks(axis: Any, limits: tuple[float, float], most: int = 12, form: Any = _plain) -> None:
    """Set ticks of a logarithmic axis in plain numbers: at 1, 2 and 5 of each decade, fewer over many decades, `most`
    at all; within one decade, round numbers at equal distances. `form`: of a value and its place, as matplotlib has it.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    low, high = sorted(limits)
    decades = math.log10(high / low)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    places: list[float] = []
    for bound, steps in TICKS:
        places = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        places = [place for place in places if low * 0.999 <= place <= high * 1.001]
        if decades < bound and len(places) <= most:
            break
    if decades < 1:
        places = [float(place) for place in MaxNLocator(min(5, most)).tick_values(low, high)]
        places = [place for place in places if low * 0.999 <= place <= high * 1.001]
    axis.set_major_locator(FixedLocator(places[:: -(-len(places) // most) or 1]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(form))


@contextmanager
def figure(
    height: float,
    columns: int = 1,
    *,
    rows: int = 1,
    width_ratios: Sequence[float] | None = None,
    projection: str | None = None,
    width: float = WIDTH,
    margins: Margins | None = None,
    fitted: bool = False,
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure in our style that no screen shows, in inches.

    `margins`: what stands around the axes has this room; `fitted`: it gets the room that it takes by `fit`. Else
    matplotlib measures it, which takes as long as drawing.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "text.parse_math": False,
        "font.size": 9.5,
        "text.color": INK,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": FAINT,
    }
    with rc_context(style):
        drawn = Figure(figsize=(width, height), layout=None if margins or fitted else "constrained")
        if margins:
            drawn.subplots_adjust(**margins.shares(width, height, columns))
        yield drawn, drawn.subplots(rows, columns, width_ratios=width_ratios, subplot_kw={"projection": projection})


def fit(drawn: Figure, axes: Axes) -> None:
    """Give the ticks and labels of the only axes of a picture the room that they take.

    The constrained layout of matplotlib measures all texts twice for that, which takes as long as drawing.
    """
    (width, height), line = drawn.get_size_inches(), 1.9 * EM
    # How many ticks there are hangs on the length of an axis: one side after the other.
    _, factor = _labels(axes.xaxis)
    bottom = 2.1 * EM + (line if axes.get_xlabel() else 0.0) + (EM if factor else 0.0)
    top = 0.8 * EM + (line if axes.get_title(loc="left") else 0.0)
    drawn.subplots_adjust(bottom=bottom / height, top=1 - top / height)
    widest, factor = _labels(axes.yaxis)
    left = 1.2 * EM + 1.05 * widest + (line if axes.get_ylabel() else 0.0)
    top += 1.2 * EM if factor else 0.0
    drawn.subplots_adjust(left=left / width, right=1 - EM / width, top=1 - top / height)
    widest, _ = _labels(axes.xaxis)
    drawn.subplots_adjust(right=1 - max(1.2 * EM, 0.6 * widest) / width)


def _labels(axis: Axis) -> tuple[float, bool]:
    """Return the inches of the widest label of an axis, and whether they have a common factor next to them."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    formatter, font = axis.get_major_formatter(), get_font(findfont(FontProperties()))
    font.set_size(72 * EM, 72)

    def width(label: str) -> float:
        font.set_text(label)
        # Letters that this font lacks, others have: wide ones are as wide as high.
        return max(font.get_width_height()[0] / 64 / 72, width_of(label) * EM / 2)

    labels = formatter.format_ticks(axis.get_majorticklocs().tolist())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return max(map(width, labels), default=0.0), bool(formatter.get_offset())


def _clean(text: str) -> str:
    """Return escaped text without characters that XML forbids (XML 1.0, production Char): names may contain any."""
    return html.escape(re.sub("[\x00-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text))


def svg(drawn: Figure, name: str, told: str) -> str:
    """Return the picture as an element of a page: no header, unique ids, colours by name, with a text alternative."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Two programs must not share ids, whatever their names have in common.
    key = f"{re.sub(r'[^a-z]+', '-', name.lower())}-{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08x}"
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key, "svg.fonttype": "none"}), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks: text stays text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        # `savefig` would draw everything twice, first for nobody: a report of a thousand trials takes seconds.
        canvas: Any = FigureCanvasSVG(drawn)
        canvas.print_svg(text, metadata={"Date": None, "Creator": None})
    found = text.getvalue()
    found = found[found.index("<svg") :]
    for foreign in (r"<metadata>.*?</metadata>", r"<!--.*?-->", r"<style.*?</style>"):
        found = re.sub(foreign + r"\s*", "", found, flags=re.DOTALL)
    found = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", found)
    for color, variable in NAMES.items():
        found = found.replace(color, f"var(--{variable})")
    found = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{key}-", found)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', found)
    head = f'<svg role="img" viewBox="0 0 {size[1]} {size[2]}"' if size else '<svg role="img"'
    inches = drawn.get_figwidth()
    # One that is as wide as the page is scrolled on a phone; narrower ones fit there.
    head += ' class="wide"' if inches >= WIDTH else f' style="width: {inches * REM:.1f}rem"'
    head += f' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><title>{_clean(told)}'
    return head + "</title>" + found[found.index(">") + 1 :]
