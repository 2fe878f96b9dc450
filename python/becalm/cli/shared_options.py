"""Options that several commands have, apart from those commands: each is imported without the others."""

from __future__ import annotations

import becalm
from becalm.cli import options

T_DIFF = "Smallest change that the timer shows: 5ns, or a file of becalm clock --json."
STORE = options.one(becalm.SessionOptions, "store")
