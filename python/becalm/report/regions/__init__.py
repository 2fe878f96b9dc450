"""Reports of timed regions: of one file, of several, and of old files against new ones."""
