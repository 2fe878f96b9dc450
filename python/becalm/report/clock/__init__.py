"""The report of `becalm clock`: `report` for the terminal, `tables`, the page in `html`, its plots in `figures`, and
`comparison` for two evaluations side by side."""
