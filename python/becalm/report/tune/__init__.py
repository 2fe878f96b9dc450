"""The report of a tune study: in words (`sentences`), on the terminal, as Markdown, as one HTML page with pictures."""
