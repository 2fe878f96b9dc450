"""The cost of single settings that does not show when they are left out, by runs with each setting and the baseline.

If several settings each make a program slow, and together no slower than one of them, leaving out any one of them has
no effect. The cost of each is then measured by runs with that setting only.
"""

from __future__ import annotations

from msgspec.structs import replace

from becalm.analysis import tune_attribution, tune_confirmation
from becalm.methods.protocol import NO_SETTINGS
from becalm.nouns.settings import Settings
from becalm.results.tune_arms import AND, BASELINE, ONLY, TUNED
from becalm.tuning.confirming import FEWEST_LOOPS, ConfirmationRun, Confirming, distinct


def cost_alone(here: ConfirmationRun) -> Confirming:
    """Measure the cost of single settings, if they do not account for that of all together and the time allows."""
    tuned = here.tuned
    judged = tuned.judged
    if not here.options.single_out or not tune_confirmation.helps(judged.comparisons, TUNED):
        return
    units = [
        contribution.knob
        for contribution in judged.contributions
        if AND not in contribution.knob
        and tune_attribution.unattributed_time(judged.comparisons, judged.contributions, contribution.program)
        and not tune_attribution.costs(contribution)
    ]
    arms = distinct(
        {BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings}
        | {ONLY + unit: _only(here, unit) for unit in dict.fromkeys(units)}
    )
    if len(arms) < 3:
        return
    shape = here.shape(arms)
    loops, left = here.options.confirm_loops, here.loops_before_fewer(arms, shape)
    if left is not None:
        loops = min(loops, left)
    if loops < FEWEST_LOOPS:
        return
    confirmation = yield from here.measure(
        arms, replace(shape, loops=loops), "fresh runs with each setting alone: its cost"
    )
    shifts = {(comparison.arm, comparison.program): comparison.shift for comparison in confirmation.comparisons}
    tuned.judged = replace(
        judged,
        contributions=tuple(
            replace(contribution, alone=shifts.get((ONLY + contribution.knob, contribution.program)))
            for contribution in judged.contributions
        ),
    )


def _only(here: ConfirmationRun, unit: str) -> Settings:
    """Return a chosen setting with the settings that it requires."""
    chosen = dict(here.tuned.choice.settings.values)
    wanted = [unit, *(name for name in here.requires.get(unit, ()) if name in chosen)]
    return Settings.of({name: chosen[name] for name in wanted})
