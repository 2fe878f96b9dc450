"""A design as a table of runs, and the report of a completed one: tables, plots, terminal, page."""
