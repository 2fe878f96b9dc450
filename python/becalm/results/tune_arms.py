"""Names of the arms that a `tune` study compares on fresh runs."""

from __future__ import annotations

BASELINE = "baseline"
"""Name of the arm without any settings."""

TUNED = "tuned"
"""Name of the arm with the settings that the search chose."""

RECOMMENDED = "recommended"
"""Name of the arm with the chosen settings except those that may be dropped, measured in a second confirmation."""

SEARCHED = "the search's choice"
"""Name of the arm with the search's choice, if a known list that varies less is recommended instead."""

SWEEP = "sweep"
"""The method of a study that swept one setting for the spread."""

LISTED = "all profiles"
"""Name of the arm with all settings of known profiles, measured before becalm reports that nothing helps."""

EVERYTHING = "all settings"
"""Name of the arm with all candidates, measured then, too."""

WITHOUT = "without "
"""The beginning of names of arms that leave out one chosen knob: "without nice"."""

ONLY = "only "
"""The beginning of names of arms that set only one chosen knob, to measure its cost in time."""

AND = " and "
"""The separator of the names of knobs that are left out as one, because each costs a boot or they have the same effect:
"without isolcpus and nohz_full"."""
