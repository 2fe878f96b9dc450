"""What stored runs show of load, for the terminal, Markdown and HTML: one wording, one set of tables."""
