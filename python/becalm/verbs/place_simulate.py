"""`becalm place simulate` and `becalm place train`: placements in simulation, and training of methods that learn.

Costs are computed from what programs do by themselves (docs/explanation/placement.md); no machine is measured or
changed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from becalm.errors import install
from becalm.nouns.option import refuse_unknown
from becalm.nouns.options.place import PlaceOptions
from becalm.nouns.signature import takes
from becalm.placement import model, trials, validation
from becalm.placement.trials import PlacementTrials
from becalm.placement.validation import SEEDS, Training
from becalm.results.place_costs import PlacementObjective, chips_of
from becalm.wording.place_trials import sentence

if TYPE_CHECKING:
    from becalm.verbs.keywords import SimulatePlacementKeywords

CHIPS = "4/4"


@takes(PlaceOptions, without=("method",), chips=CHIPS)
def simulate_placement(
    tasks: Sequence[str] = (),
    *,
    programs: str | Path | None = None,
    methods: Sequence[str] = (),
    drain: bool = False,
    weights: str | Path | None = None,
    **keywords: Unpack[SimulatePlacementKeywords],
) -> PlacementTrials:
    """Place programs on simulated chips by several methods, and play each placement through.

    Arguments:
        tasks: names of programs in the file; none: all of them.
        programs: a file that describes programs running alone [default: the published one that comes with becalm].
        methods: the placement methods; none: all of them.
        drain: do not restart a program that ends.
        weights: a folder of one's own weights, written by `train_placement`.

    Raises UsageError for programs that cannot be placed, MachineError without the engine.
    """
    refuse_unknown(keywords, PlaceOptions)
    options = PlaceOptions.of({**keywords, "chips": keywords.get("chips") or CHIPS})
    known = model.published() if programs is None else model.read(programs)
    placement_trials = trials.tried(
        known,
        tasks,
        chips_of(options.chips or ()),
        methods,
        drain=drain,
        objective=PlacementObjective(options.objective),
        seed=options.seed,
        budget_s=options.budget_s,
        weights=None if weights is None else str(weights),
    )
    return replace(placement_trials, sentence=sentence(placement_trials))


def train_placement(
    *,
    programs: str | Path | None = None,
    seeds: int = SEEDS,
    seed: int = 1,
    save: str | Path | None = None,
    say: Callable[[str], None] | None = None,
) -> Training:
    """Train the placement methods that learn, on generated programs, and report how good they are on unseen ones.

    Arguments:
        programs: a file of programs, whose distribution the generated ones follow [default: the published one].
        seeds: the seeds of the cross-validation, each of five folds.
        seed: the seed of the weights that are saved.
        save: a folder for the weights, which `weights` of `simulate_placement` accepts.
        say: called with a sentence about progress.

    Without scikit-learn no support vector machine is trained, and the result contains the reason.
    Raises UsageError for a file or folder that cannot be used.
    """
    known = model.published() if programs is None else model.read(programs)
    missing = ""
    if importlib.util.find_spec("sklearn") is None:
        missing = f"scikit-learn is not installed, so there is no svm: {install('scikit-learn')}"
    return validation.train(known, seeds=seeds, seed=seed, save=save, without_svm=missing, say=say)
