"""When a running program moves cheaply: sweet spots, found in what two counters per CPU say.

`RULES` has the rules of detection by name, `engine` asks the program becalm-sim (crates/becalm-sim/src/spots, …/cache).
Source: K. Tabere, Migration Sweetspots, diploma thesis, TU Dresden 2013.
"""

from becalm.migration.rules import RULES, Rule, rules_named

__all__ = ["RULES", "Rule", "rules_named"]
