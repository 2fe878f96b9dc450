"""The report of `becalm clock`: `report` for the terminal, `tables`, `html` the page, `figures` its pictures,
`comparison` two evaluations side by side."""
