"""A study while it lasts: its resources, the one measuring loop, and its conclusion."""
