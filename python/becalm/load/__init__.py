"""The load of the machine while programs ran, and what made a run slow.

Nouns:

- `record.Load`: exact counts around some runs
- `record.Series`: sampled states over time
- `time_accounting.Times`: where the time of a run went
- `delay.Delay`: the delay factor against a reference, with the expected one
- `waterfall.Waterfall`: one run explained, bar by bar

Everything here is arithmetic on these nouns: no host, no store, no terminal.
"""
