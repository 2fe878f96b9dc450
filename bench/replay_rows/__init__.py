"""The rows of the replay: one module per claim, each with a function `replay` that returns its tables.

`ROWS` names them. A module has a docstring that names the public source of its data, and

    def replay(data: Path, quick: bool) -> list[Table]

`data` is the folder of all sets; `quick` asks for a small part that shows that the row works.
"""

from __future__ import annotations

ROWS = ("change_points", "cpython", "steps", "costs", "stored", "settling", "modes", "tuning")
"""Modules of this package, in the order of the page."""
