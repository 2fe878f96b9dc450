"""Reports of timed regions: one file, and old files against new ones."""
