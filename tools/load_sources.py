"""Write docs/load-sources.md from the agent's table of sources, so that the document cannot say anything else.

python tools/load_sources.py          writes the file
python tools/load_sources.py --check  exits 1 when the file is out of date
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs/load-sources.md"

HEAD = """# What else the machine did: sources

What becalm reads of a machine's load, written from the agent's own table by `tools/load_sources.py`. The request `read`
([protocol.md](protocol.md)) gives the numbers raw, as the kernel counts them.

Names are `ROW.COLUMN`: `cpu0.steal`, `sda.sectors_read`, `24:virtio0-req.cpu1`; rows of one number have no column.
*PID* is the process that is meant (the agent itself), *N* a CPU, *GROUP* a control group of that process.

- A counter's difference over an interval is exact, or it is not known and has a reason: the counter ran backwards, or
  what it counts appeared or disappeared in between. It is never zero for want of knowledge, and never negative.
- Where the kernel prints only 32 bits of a counter, a return to zero is followed if the counter moved by less than
  2^28; otherwise it counts as having run backwards.
- A line that was cut off is not read; columns that a newer kernel adds are left out, those that an older one lacks are
  unknown.
- States (runnable tasks, pressure averages, free memory, frequencies) have no difference: they are sampled.

"""

COLUMNS = ("name", "files", "what", "unit", "trap", "absent")
TITLES = ("name", "files", "what it says", "unit, resolution", "trap", "why it may be absent")


def table() -> list[dict]:
    """The rows, asked from the agent of the source tree."""
    requests = [
        {"id": 1, "do": "open", "protocol": 1, "environment": {}, "directory": "/"},
        {"id": 2, "do": "read", "describe": True},
        {"id": 3, "do": "bye"},
    ]
    agent = ROOT / "python/becalm/becalm-agent"
    text = "".join(json.dumps(each) + "\n" for each in requests)
    answer = subprocess.run([agent, "serve"], input=text, capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in answer.splitlines()]
    return next(event["table"] for event in events if "table" in event)


def document(rows: list[dict]) -> str:
    """The whole file."""
    lines = [f"| {' | '.join(TITLES)} |", "| --- " * len(TITLES) + "|"]
    for row in rows:
        files = ", ".join(f"`{name}`" for name in row["files"])
        cells = {**row, "name": f"`{row['name']}`", "files": files}
        lines.append("| " + " | ".join(cells[key].replace("|", "\\|") for key in COLUMNS) + " |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = document(table())
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.exists() and FILE.read_text() == text else 1)
    FILE.write_text(text)
