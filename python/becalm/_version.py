"""The one place that states the versions; pyproject.toml and the agent are checked against it."""

VERSION = "0.1.0"

SCHEMA = 1
"""Version of the JSON that `--json` prints (docs/reference/json.md)."""
