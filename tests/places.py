"""Where things are, for tests wherever they stand."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""
