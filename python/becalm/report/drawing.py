"""SVG plots for a page: drawn by matplotlib, coloured by the page.

Text stays text, so that it can be read aloud, searched and enlarged; every colour is a name that the page's style
sheet defines for light and dark (`page.css`). Only this module imports matplotlib, and only when a plot is needed.

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
from typing import TYPE_CHECKING, Any

import msgspec

from becalm.wording.printable import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, FAINT, BEFORE, AFTER, OTHER, ALARM = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
"""Colours that matplotlib writes and `svg` replaces by names; near black, in case a page defines none."""

NAMES = {INK: "ink", FAINT: "faint", BEFORE: "before", AFTER: "after", OTHER: "other", ALARM: "alarm"}

WIDTH = 7.4
"""The width of a plot as wide as the page, in inches of 72 units."""

HALF, THIRD = 3.62, 2.35
"""The widths of plots of which two and three stand next to each other, or below each other on a phone."""

REM = 57.5 / WIDTH
"""The rem per inch of the page's column, which is 57.5 rem wide (page.css)."""

EM = 9.5 / 72
"""The size of letters in inches."""

TICKS = ((2.5, (1, 2, 5)), (4.0, (1, 3)), (math.inf, (1,)))
"""The multiples of powers of ten that have ticks, by the number of decades below which they apply."""


class Margins(msgspec.Struct, frozen=True):
    """The room for ticks and labels in inches: around one row of axes, and `between` two of them."""

    left: float
    right: float
    bottom: float
    top: float
    between: float = 0.0

    def shares(self, width: float, height: float, columns: int) -> dict[str, float]:
        """Return the arguments of matplotlib: edges as shares of the plot, the gap as a share of an axis' width."""
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
    """Set plain numbers as ticks of a logarithmic axis: 1, 2 and 5 of each decade, fewer over many decades.

    Within one decade they are round numbers at equal distances. `most`: their largest number. `form`: a function of a
    value and its place, as matplotlib calls it.
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
    """Yield a figure in becalm's style with its axes; `height` and `width` are in inches.

    `margins`: the room around the axes; `fitted`: `fit` determines the room later. Otherwise matplotlib measures it,
    which takes as long as drawing.
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
        picture = Figure(figsize=(width, height), layout=None if margins or fitted else "constrained")
        if margins:
            picture.subplots_adjust(**margins.shares(width, height, columns))
        yield picture, picture.subplots(rows, columns, width_ratios=width_ratios, subplot_kw={"projection": projection})


def fit(picture: Figure, axes: Axes) -> None:
    """Give the ticks and labels of a plot with one pair of axes the room that they need.

    The constrained layout of matplotlib measures all texts twice for that, which takes as long as drawing.
    """
    (width, height), line = picture.get_size_inches(), 1.9 * EM
    # The number of ticks depends on the length of an axis, so one side is fitted after the other.
    _, factor = _labels(axes.xaxis)
    bottom = 2.1 * EM + (line if axes.get_xlabel() else 0.0) + (EM if factor else 0.0)
    top = 0.8 * EM + (line if axes.get_title(loc="left") else 0.0)
    picture.subplots_adjust(bottom=bottom / height, top=1 - top / height)
    widest, factor = _labels(axes.yaxis)
    left = 1.2 * EM + 1.05 * widest + (line if axes.get_ylabel() else 0.0)
    top += 1.2 * EM if factor else 0.0
    picture.subplots_adjust(left=left / width, right=1 - EM / width, top=1 - top / height)
    widest, _ = _labels(axes.xaxis)
    picture.subplots_adjust(right=1 - max(1.2 * EM, 0.6 * widest) / width)


def _labels(axis: Axis) -> tuple[float, bool]:
    """Return the width of the widest label of an axis, in inches, and whether the axis has a common factor."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    formatter, font = axis.get_major_formatter(), get_font(findfont(FontProperties()))
    font.set_size(72 * EM, 72)

    def width(label: str) -> float:
        font.set_text(label)
        # Other fonts have the letters that this one lacks: wide ones are as wide as high.
        return max(font.get_width_height()[0] / 64 / 72, width_of(label) * EM / 2)

    labels = formatter.format_ticks(axis.get_majorticklocs().tolist())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return max(map(width, labels), default=0.0), bool(formatter.get_offset())


def _clean(text: str) -> str:
    """Return escaped text without characters that XML forbids (XML 1.0, production Char)."""
    return html.escape(re.sub("[\x00-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text))


def svg(picture: Figure, name: str, description: str) -> str:
    """Return the picture as an element of a page: no header, unique ids, named colours, a text alternative."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Two programs must not share ids, however similar their names are.
    key = f"{re.sub(r'[^a-z]+', '-', name.lower())}-{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08x}"
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key, "svg.fonttype": "none"}), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks, since text stays text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        # `savefig` would draw everything twice: a report of a thousand trials would take seconds longer.
        canvas: Any = FigureCanvasSVG(picture)
        canvas.print_svg(text, metadata={"Date": None, "Creator": None})
    markup = text.getvalue()
    markup = markup[markup.index("<svg") :]
    for foreign in (r"<metadata>.*?</metadata>", r"<!--.*?-->", r"<style.*?</style>"):
        markup = re.sub(foreign + r"\s*", "", markup, flags=re.DOTALL)
    markup = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", markup)
    for color, variable in NAMES.items():
        markup = markup.replace(color, f"var(--{variable})")
    markup = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{key}-", markup)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', markup)
    head = f'<svg role="img" viewBox="0 0 {size[1]} {size[2]}"' if size else '<svg role="img"'
    inches = picture.get_figwidth()
    # A plot as wide as the page is scrolled on a phone; narrower ones fit there.
    head += ' class="wide"' if inches >= WIDTH else f' style="width: {inches * REM:.1f}rem"'
    head += (
        f' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><title>{_clean(description)}'
    )
    return head + "</title>" + markup[markup.index(">") + 1 :]
