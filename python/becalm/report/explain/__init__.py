"""The report of load in stored runs, for the terminal, Markdown and HTML, with the same sentences and tables."""
