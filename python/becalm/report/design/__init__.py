"""A design as a table of runs, and the report of a filled one: tables, pictures, terminal, page."""
