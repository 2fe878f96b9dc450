"""The report of load in stored runs, for the terminal, Markdown and HTML: one wording, one set of tables."""
