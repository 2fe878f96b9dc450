"""The validation of learned placements on unseen data, and all of training in one call.

`validate` holds out whole workloads of the same programs, and whole programs, never single instances, which other
instances of their workload would reveal. `train` validates, trains what ships, and writes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from becalm._version import VERSION
from becalm.errors import UsageError
from becalm.files.written import target, write
from becalm.nouns.codec import plain_dict
from becalm.nouns.result import Documented
from becalm.placement.generated import Generated, distributed, drawn
from becalm.placement.learned import chosen, score
from becalm.placement.model import Characterisation
from becalm.placement.training import CLASSIFIERS, FitQuality, Model, TrainingData, said, train_classifier, train_costs

FOLDS = 5
SEEDS = 20

SHIPPED = {"mlp": "mlp2", "svm": "svm"}
"""The classifier behind each placement."""

DIGITS = 6
"""The number of significant digits of the weights in files."""


class Score(msgspec.Struct, frozen=True):
    """The quality of a method on unseen data.

    - `accuracy`: the share of tasks whose chip is right
    - `precision`, `recall`, `f`: weighted by class; NaN for methods without classes
    - `regret`: the mean degradation less that of the optimum
    - `optimum`: the mean degradation of the optimum
    """

    method: str
    held_out: str
    accuracy: float
    precision: float
    recall: float
    f: float
    regret: float
    optimum: float
    workloads: int


@dataclass
class _Tally:
    right: list[tuple[float, float]]
    regret: list[float]
    optimum: list[float]

    def add(self, data: TrainingData, number: int, first: Sequence[int]) -> None:
        """Add one workload. `first`: the tasks on the chip of its first task."""
        workload = data.workloads[number]
        best = data.pool.worth(workload, data.pool.best(workload))
        self.regret.append(data.pool.worth(workload, first) - best)
        self.optimum.append(best)
        labels = data.labels[8 * number : 8 * number + 8]
        self.right += [(float(task not in first), float(label)) for task, label in zip(workload, labels, strict=True)]

    def score(self, method: str, held_out: str) -> Score:
        """Return the score over all workloads."""
        pairs = np.array(self.right)
        precision, recall, f = [], [], []
        for kind in (0.0, 1.0):
            hit = float(((pairs[:, 0] == kind) & (pairs[:, 1] == kind)).sum())
            predicted, actual = float((pairs[:, 0] == kind).sum()), float((pairs[:, 1] == kind).sum())
            precision.append(hit / predicted if predicted else 0.0)
            recall.append(hit / actual if actual else 0.0)
            f.append(2 * hit / (predicted + actual) if predicted + actual else 0.0)
        accuracy = float((pairs[:, 0] == pairs[:, 1]).mean())
        return Score(
            method, held_out, accuracy, float(np.mean(precision)), float(np.mean(recall)), float(np.mean(f)),
            float(np.mean(self.regret)), float(np.mean(self.optimum)), len(self.regret),
        )  # fmt: skip


def validate(
    known: Characterisation, methods: Sequence[str], seeds: int = SEEDS, say: Callable[[str], None] | None = None
) -> tuple[Score, ...]:
    """Return five-fold cross-validation over some seeds, also of DI and random sharings.

    By workload: the workloads of one draw of eleven programs. By program: five draws, of which one is held out.
    """
    tallies: dict[tuple[str, str], _Tally] = {}
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        pools = [Generated(drawn(known, 11, random), known.cache) for _ in range(FOLDS)]
        whole = [TrainingData.of(pool, pool.workloads) for pool in pools]
        order = random.permutation(len(whole[0].workloads))
        folds = [[whole[0].workloads[index] for index in order[fold::FOLDS]] for fold in range(FOLDS)]
        parts = [TrainingData.of(pools[0], fold) for fold in folds]
        for held_out, some in (("workloads", parts), ("programs", whole)):
            for fold in range(FOLDS):
                learn = [data for index, data in enumerate(some) if index != fold]
                inputs, labels = (
                    np.concatenate([getattr(data, name) for data in learn]) for name in ("inputs", "labels")
                )
                for name in methods:
                    model = CLASSIFIERS[name](inputs, labels, seed)
                    _try(tallies.setdefault((name, held_out), _Tally([], [], [])), some[fold], model)
                for name in ("di", "random"):
                    tally = tallies.setdefault((name, held_out), _Tally([], [], []))
                    for number, workload in enumerate(some[fold].workloads):
                        four = (workload[0], *random.choice(workload[1:], 3, replace=False))
                        tally.add(some[fold], number, distributed(workload) if name == "di" else tuple(map(int, four)))
        if say is not None:
            say(f"seed {seed + 1} of {seeds}")
    return tuple(tally.score(*key) for key, tally in tallies.items())


def _try(tally: _Tally, data: TrainingData, model: Model) -> None:
    toward = score(said(model, data.inputs))
    for number, workload in enumerate(data.workloads):
        first = chosen(toward[8 * number : 8 * number + 8])
        tally.add(data, number, [workload[index] for index in first])


class Training(Documented, frozen=True):
    """The trained methods, for programs like those of `characterisation`.

    - `scores`: of the classifiers of chips
    - `costs`: the quality of those that predict costs
    - `saved`: the files
    - `skipped`: the methods that could not be trained here, and why
    """

    KIND = "placement-training"

    characterisation: str
    seeds: int
    seed: int
    scores: tuple[Score, ...]
    costs: tuple[FitQuality, ...]
    saved: tuple[str, ...] = ()
    skipped: str = ""


def train(
    known: Characterisation,
    *,
    seeds: int = SEEDS,
    seed: int = 1,
    save: str | Path | None = None,
    without_svm: str = "",
    say: Callable[[str], None] | None = None,
) -> Training:
    """Validate and train. `save`: a folder for the weights. `without_svm`: the reason for no support vector machine.

    Raises UsageError for a folder that cannot be written, MachineError without scikit-learn unless `without_svm`.
    """
    if seeds < 1:
        raise UsageError(f"The number of seeds must be at least 1, not {seeds}.")
    folder = None if save is None else Path(save)
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"Weights cannot be written to {folder}: it is not a folder that becalm may write to.")
    if folder is not None:
        for name in ("costs", *SHIPPED):
            target(folder / f"{name}.json")
    methods = [name for name in CLASSIFIERS if not (without_svm and name == "svm")]
    scores = validate(known, methods, seeds, say)
    model, fitted = train_costs(known, seed)
    trained_models: dict[str, tuple[Model, Any]] = {"costs": (model, [plain_dict(quality) for quality in fitted])}
    for name, trained in SHIPPED.items():
        if trained in methods:
            own = [plain_dict(score) for score in scores if score.method == trained]
            trained_models[name] = (train_classifier(known, trained, seed), own)
    saved = []
    for name, (weights, unseen) in trained_models.items() if folder is not None else ():
        assert folder is not None
        about = {
            "made_by": f"becalm place train --seeds {seeds} --seed {seed}", "becalm": VERSION,
            "programs_like": known.cache.name, "on_what_it_has_not_seen": unseen,
        }  # fmt: skip
        path = folder / f"{name}.json"
        write(path, json.dumps({"about": about, "model": _rounded(weights)}) + "\n")
        saved.append(str(path))
    return Training(known.cache.name, seeds, seed, scores, fitted, tuple(saved), without_svm)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
