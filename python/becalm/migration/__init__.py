"""Sweet spots: moments at which a running program moves cheaply, detected from two counters per CPU.

`RULES` has the rules of detection; `engine` runs the program becalm-sim (crates/becalm-sim/src/spots, …/cache).
Source: K. Tabere, Migration Sweetspots, diploma thesis, TU Dresden 2013.
"""

from becalm.migration.rules import RULES, Rule, rules_named

__all__ = ["RULES", "Rule", "rules_named"]
