"""Pages as a browser shows them: headless Chromium, which looks at each in frames of given widths (`browser.js`)."""

import base64
import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from tests.needs import need
from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S

SCRIPT = ROOT / "tests/system/browser/browser.js"
PHONE, DESK = 360, 1280
"""Widths in pixels; the narrow one is that of a small telephone of today."""

ALONE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--mute-audio",
)  # fmt: skip
"""The options for only the page: no network of its own, and root has no sandbox."""


@dataclass(frozen=True)
class Look:
    """The look of one page at one width. `wider`: pixels by which it scrolls sideways; `paper`: luminance of the
    ground; `faint`: texts whose contrast is below WCAG's 4.5 (3 for large ones); `used`: what a history's graph did."""

    name: str
    width: int
    wider: int
    paper: float
    text: int
    pictures: int
    faint: list[str]
    used: dict[str, Any] | None
    thrown: list[str]


def look(place, pages, dark, height=6000):
    """Return the look of each of `pages` (HTML by file name) at both widths, in `place`, and the messages of the
    browser's console."""
    for name, text in pages.items():
        (place / name).write_text(text, encoding="utf-8")
    wanted = json.dumps({"pages": list(pages), "widths": [PHONE, DESK], "height": height})
    driver = place / "driver.html"
    driver.write_text(
        f'<!doctype html><meta charset="utf-8"><body><script type="application/json" id="wanted">{wanted}</script>'
        f"<script>{SCRIPT.read_text()}</script>"
    )
    words = [
        need("chromium"), *ALONE, "--allow-file-access-from-files", f"--user-data-dir={place / 'profile'}",
        # PreferredColorScheme of Blink: 0 is dark, 1 light.
        f"--blink-settings=preferredColorScheme={int(not dark)}", f"--window-size={DESK + 40},{height}",
        "--enable-logging=stderr", "--virtual-time-budget=60000", "--dump-dom", driver.as_uri(),
    ]  # fmt: skip
    # In the home directory it makes .pki.
    home = {**os.environ, "HOME": str(place)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_LIMIT_S, check=True, env=home)
    match = re.search(r"<title>(.*?)</title>", done.stdout)
    console = re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", done.stderr)
    assert match, f"The pages were not looked at: {console}\n{done.stderr[-2000:]}"
    return [Look(**load) for load in json.loads(base64.b64decode(match[1]))], console
