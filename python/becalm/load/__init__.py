"""What else the machine did while programs ran, and what made a run slow.

Nouns: `record.Load` (what was counted around some runs, exact), `record.Series` (states over time, sampled). Everything
here is arithmetic on them: no host, no store, no terminal.
"""
