"""Record commands in a terminal and write them as an animated SVG: the picture of the README.

    python tools/picture.py docs/images/compare.svg     # needs a quiet machine, half a minute

The first two scenes of tools/demo.py are played in a terminal of 80 columns. Every screen becomes a group of the SVG,
shown for as long as it was there; waiting is cut to PAUSE_S. The file needs nothing else: no script, no font from
elsewhere. Where animations are switched off (prefers-reduced-motion), it shows the last screen.
"""

from __future__ import annotations

import html
import os
import pty
import select
import shlex
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import demo
import pyte

COLUMNS, LINES = 80, 24
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 16
TYPED_S = 0.04
"""The time that a typed letter takes, in seconds."""
PAUSE_S = 0.25
"""The longest time that an unchanged screen is shown before the end of a command, in seconds."""
READ_S = 4.0
"""The time that the result of a command is shown, in seconds."""
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
BACKGROUND = "#2b303b"
COLOURS = {
    "default": "#d8dee9", "black": "#4c566a", "red": "#ef7d88", "green": "#a3d18a", "brown": "#ebcb8b",
    "blue": "#88b0e0", "magenta": "#c9a0d0", "cyan": "#88c8d0", "white": "#eceff4",
}  # fmt: skip
"""The colour for each name that pyte gives; bright ones have the colour of their kind."""


@dataclass(frozen=True)
class Frame:
    """A screen as SVG text, and the seconds that it is shown."""

    body: str
    seconds: float


def colour(name: str) -> str:
    """Return the SVG colour for a colour of pyte: a name, or six hexadecimal digits."""
    plain = name.removeprefix("bright")
    return COLOURS.get(plain) or f"#{plain}"


def drawn(screen: pyte.Screen) -> str:
    """Return the rows of a screen as SVG texts, one for each run of characters with the same look."""
    texts = []
    for row in range(LINES):
        cells = [screen.buffer[row][column] for column in range(COLUMNS)]
        start = 0
        while start < COLUMNS:
            look = (cells[start].fg, cells[start].bold)
            end = start
            while end < COLUMNS and (cells[end].fg, cells[end].bold) == look:
                end += 1
            text = "".join(cell.data for cell in cells[start:end])
            if stripped := text.rstrip():
                # The length keeps columns in line whatever font there is.
                blank = len(stripped) - len(stripped.lstrip())
                words = stripped.lstrip()
                x = MARGIN + (start + blank) * CELL_WIDTH
                weight = ' font-weight="bold"' if look[1] else ""
                texts.append(
                    f'<text x="{x:.1f}" y="{MARGIN + (row + 2.5) * CELL_HEIGHT:.0f}" fill="{colour(look[0])}"{weight} '
                    f'textLength="{len(words) * CELL_WIDTH:.1f}">{html.escape(words)}</text>'
                )
            start = end
    return "".join(texts)


class Recorder:
    """A terminal, and the frames that it has shown."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.Stream(self.screen)
        self.frames: list[Frame] = []

    def show(self, seconds: float) -> None:
        """Add the present screen as a frame, or lengthen the last frame when nothing has changed."""
        body = drawn(self.screen)
        if self.frames and self.frames[-1].body == body:
            self.frames[-1] = Frame(body, self.frames[-1].seconds + seconds)
        else:
            self.frames.append(Frame(body, seconds))

    def type(self, text: str) -> None:
        """Show how a line is typed, a word at a time."""
        for word in text.split(" "):
            self.stream.feed(word + " ")
            self.show(TYPED_S * (len(word) + 1))
        self.stream.feed("\r\n")

    def run(self, words: list[str], directory: Path, environment: dict[str, str]) -> int:
        """Run a command in the terminal, add a frame for each screen, and return its exit code."""
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(directory)
            os.environ.update(environment, COLUMNS=str(COLUMNS), LINES=str(LINES), TERM="xterm-256color")
            os.execvp(words[0], words)
        since = time.monotonic()
        while True:
            readable, _, _ = select.select([terminal], [], [], PAUSE_S)
            if not readable:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            self.show(min(time.monotonic() - since, PAUSE_S))
            since = time.monotonic()
            self.stream.feed(data.decode(errors="replace"))
        os.close(terminal)
        self.show(READ_S)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def keyframes(number: int, begin: float, end: float) -> str:
    """Return the style by which a frame is visible from `begin` to `end`, in per cent of the whole time."""
    before = f"0%{{opacity:0}}{begin:.3f}%{{opacity:1}}" if begin else "0%{opacity:1}"
    after = f"{end:.3f}%{{opacity:0}}" if end < 100 else "100%{opacity:1}"
    return f"@keyframes f{number}{{{before}{after}}}"


def animated(frames: list[Frame], title: str) -> str:
    """Return the SVG that shows the frames one after the other, again and again."""
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, (LINES + 1.5) * CELL_HEIGHT + 2 * MARGIN
    total = sum(frame.seconds for frame in frames)
    styles, groups, start = [], [], 0.0
    for number, frame in enumerate(frames):
        end = 100 if number == len(frames) - 1 else (start + frame.seconds) / total * 100
        styles.append(keyframes(number, start / total * 100, end))
        groups.append(f'<g class="frame" style="animation-name:f{number}">{frame.body}</g>')
        start += frame.seconds
    buttons = zip(("red", "brown", "green"), (22, 40, 58), strict=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>text{{font:14px {FONTS};white-space:pre}}"
            f".frame{{opacity:0;animation:{total:.2f}s step-end infinite}}"
            "@media(prefers-reduced-motion:reduce){.frame{animation:none}.frame:last-child{opacity:1}}",
            *styles,
            "</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *(f'<circle cx="{x}" cy="18" r="5.5" fill="{COLOURS[name]}"/>' for name, x in buttons),
            *groups,
            "</svg>",
            "",
        ]
    )


def main(arguments: list[str]) -> int:
    """Play the scenes and write the picture. Return 1 when a command fails."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        demo.prepare(place)
        for scene in demo.scenes(15)[:2]:
            recorder.screen.reset()
            recorder.stream.feed(f"\x1b[36m# {scene.remark}\x1b[0m\r\n")
            for command in scene.commands:
                recorder.stream.feed("\x1b[32m$\x1b[0m ")
                recorder.type(command)
                words = [sys.executable, "-m", "becalm", *shlex.split(command)[1:]]
                if code := recorder.run(words, place, demo.environment(place)):
                    print(
                        f"{command} ended with exit code {code}:", *recorder.screen.display, sep="\n", file=sys.stderr
                    )
                    return 1
    Path(arguments[0]).write_text(animated(recorder.frames, "becalm compares two programs"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
