"""The reports of results: terminal, HTML pages, Markdown and file formats."""
