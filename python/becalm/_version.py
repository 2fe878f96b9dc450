"""The one place that states the version; pyproject.toml and the agent are checked against it."""

VERSION = "0.1.0"
