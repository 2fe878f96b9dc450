"""The load of the machine while programs ran, and what made a run slow.

Nouns: `record.Load` (what was counted around some runs, exact), `record.Series` (states over time, sampled),
`time_accounting.Times` (where the time of a run went), `delay.Delay` (how many times as long as the reference, and what
was to be expected), `waterfall.Waterfall` (one run explained, bar by bar). Everything here is arithmetic on them: no
host, no store, no terminal.
"""
