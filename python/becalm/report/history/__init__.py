"""The report of a project's history: tables, and a page with a graph for each benchmark."""
