"""Write docs/knobs.md from the agent's catalogue, so that the document cannot say anything else.

python tools/knobs.py          writes the file
python tools/knobs.py --check  exits 1 when the file is out of date
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs/knobs.md"

HEAD = """# Knobs

Every system parameter that becalm can set, written from the agent's own table by `tools/knobs.py`. `becalm knobs`
shows what your machine has and why not the rest; `becalm knobs NAME` explains one.

*Scope*: `process` settings belong to the measured program and end with it; `live` ones change the running machine,
need root, and are put back; `boot` ones take effect at the next boot, which a guest makes
by itself ([guest.md](guest.md)). *Tried* is the value with which `becalm tune`
looks for a small spread; knobs without one are yours to set. Those of the group *dangerous* need `--dangerous`.
"""

COLUMNS = ("name", "values", "tried", "group", "why it matters", "what it costs", "needs", "source")
AT_BOOT = (*COLUMNS, "kernel parameters")


def catalogue() -> list[dict]:
    """The rows, asked from the agent of the source tree."""
    requests = [
        {"id": 1, "do": "open", "protocol": 1, "environment": {}, "directory": "/"},
        {"id": 2, "do": "knobs"},
        {"id": 3, "do": "bye"},
    ]
    agent = ROOT / "python/becalm/becalm-agent"
    text = "".join(json.dumps(each) + "\n" for each in requests)
    answer = subprocess.run([agent, "serve"], input=text, capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in answer.splitlines()]
    return next(event["knobs"] for event in events if "knobs" in event)


def document(rows: list[dict]) -> str:
    """The whole file."""
    lines = [HEAD]
    for scope, title in (
        ("process", "Of the measured program"),
        ("live", "Of the running machine"),
        ("boot", "At the next boot"),
    ):
        lines += [f"## {title}", ""]
        columns = AT_BOOT if scope == "boot" else COLUMNS
        lines += [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
        for row in (each for each in rows if each["scope"] == scope):
            tried = f"`{row['steady']}`" if row["steady"] is not None else ""
            needs = ", ".join([row["privilege"], *(f"`{name}`" for name in row["needs"])]).strip(", ")
            words = (row[key] for key in ("group", "matters", "costs"))
            cells = [f"`{row['name']}`", row["domain"], tried, *words, needs, row["source"]]
            if row["parameters"] is not None:
                cells.append(f"`{' '.join(row['parameters'])}`".replace("{}", "…"))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    text = document(catalogue())
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.exists() and FILE.read_text() == text else 1)
    FILE.write_text(text)
