"""The report of a tune study: on the terminal, as Markdown, and as one HTML page with plots."""
