"""`becalm place simulate` and `becalm place train`: placements in simulation, and training of methods that learn.

Costs are computed from what programs do by themselves (docs/explanation/placement.md); no machine is measured or
changed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from becalm.errors import UsageError, install
from becalm.placement import BUDGET_S, model, trials, validation
from becalm.placement.trials import PlacementTrials
from becalm.placement.validation import SEEDS, Training
from becalm.results.place_costs import Chip, PlacementObjective
from becalm.units import duration_ns
from becalm.wording.place_trials import sentence


def simulate_placement(
    tasks: Sequence[str] = (),
    *,
    programs: str | Path | None = None,
    chips: str = "4/4",
    methods: Sequence[str] = (),
    drain: bool = False,
    objective: str = "degradation",
    seed: int = 0,
    budget: float | str = BUDGET_S,
    weights: str | Path | None = None,
) -> PlacementTrials:
    """Place programs on simulated chips by several methods, and play each placement through.

    Arguments:
        tasks: names of programs in the file; none are all of them.
        programs: a file that describes programs alone; the published one that comes with becalm otherwise.
        chips: cores of each chip, "4/4"; "2x2" are two cores of two threads.
        methods: which placements; none are all of them.
        drain: what ends does not begin again.
        objective: what is averaged, degradation or slowdown.
        seed: of methods that draw.
        budget: for each method's search, seconds or text ("10s").
        weights: folder of one's own weights, of `train_placement`.

    Raises UsageError for what cannot be placed, MachineError without the engine.
    """
    known = model.published() if programs is None else model.read(programs)
    try:
        scale = PlacementObjective(objective)
    except ValueError:
        raise UsageError(f"There is no objective {objective!r} of a placement: degradation, slowdown.") from None
    placement_trials = trials.tried(
        known,
        tasks,
        parsed_chips(chips),
        methods,
        drain=drain,
        objective=scale,
        seed=seed,
        budget_s=duration_ns(budget) / 1e9,
        weights=None if weights is None else str(weights),
    )
    return replace(placement_trials, sentence=sentence(placement_trials))


def parsed_chips(text: str) -> tuple[Chip, ...]:
    """Return the chips described by a text: cores, or cores x threads, with slashes between. Raises UsageError."""
    result = []
    for word in text.split("/"):
        cores, _, threads = word.strip().partition("x")
        if not (cores.isdecimal() and (not threads or threads.isdecimal())):
            raise UsageError(
                f"{text!r} are no chips. Write the cores of each: 4/4, or 2x2/2x2 for cores of two threads."
            )
        result.append(Chip(int(cores), int(threads or 1)))
    return tuple(result)


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
        programs: a file of programs whose distribution is drawn from; the published one otherwise.
        seeds: of the cross-validation, each of five folds.
        seed: of the weights that are kept.
        save: a folder for the weights, which `weights` of `simulate_placement` takes.
        say: called with a sentence about progress.

    Without scikit-learn no support vector machine is trained, and that is said.
    Raises UsageError for a file or folder that cannot be used.
    """
    known = model.published() if programs is None else model.read(programs)
    missing = ""
    if importlib.util.find_spec("sklearn") is None:
        missing = f"scikit-learn is not installed, so there is no svm: {install('scikit-learn')}"
    return validation.train(known, seeds=seeds, seed=seed, save=save, without_svm=missing, say=say)
