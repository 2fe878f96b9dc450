"""Confirmations that are made up: arms whose true spread and mean are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from becalm.analysis import tune_confirmation as steady
from becalm.methods.protocol import Sample
from becalm.nouns.excluded import Excluded
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.settings import Settings
from becalm.results.compare import Stopped
from becalm.results.tune import Transfer, Trial, TuneVerdict
from becalm.results.tune_arms import BASELINE, TUNED
from becalm.wording import tune as sentences

CHOSEN = Settings.of({"aslr": "off", "governor": "performance", "nice": -20, "turbo": False})
PROGRAM = "hmmsearch globins.hmm"

TRUTH = {
    BASELINE: (Settings(), 0.0576, 1.0),
    TUNED: (CHOSEN, 0.0032, 1.02),
    "without aslr": (steady.leave_one_out(CHOSEN)["without aslr"], 0.0028, 1.02),
    "without governor": (steady.leave_one_out(CHOSEN)["without governor"], 0.021, 1.02),
    "without nice": (steady.leave_one_out(CHOSEN)["without nice"], 0.0028, 1.02),
    "without turbo": (steady.leave_one_out(CHOSEN)["without turbo"], 0.0095, 0.985),
    "llvm-tips": (Settings.of({"aslr": "off", "governor": "performance", "smt": "off", "turbo": False}), 0.011, 1.05),
    "pyperf": (Settings.of({"aslr": "off", "governor": "performance", "perf_rate": 1, "turbo": False}), 0.009, 1.03),
}
"""Settings, spread, and mean over that of the baseline."""

Truth = Mapping[str, tuple[Settings, float, float]]


def confirmation(
    truth: Truth, loops: int = 20, runs: int = 15, seed: int = 2, programs: int = 1
) -> dict[str, list[Sample]]:
    """Return samples of every arm, with normal noise about a level that wanders from loop to loop."""
    rng = np.random.default_rng(seed)
    level = 38.9e9 * np.exp(np.cumsum(rng.normal(0, 0.003, loops)))
    return {
        name: [
            Sample(settings, tuple(np.round(at * mean * np.exp(spread * rng.standard_normal(runs))) for at in level))
            for _ in range(programs)
        ]
        for name, (settings, spread, mean) in truth.items()
    }


def verdict(judged: steady.Confirmation, programs: tuple[str, ...] = (PROGRAM,), margin: float = 0.25) -> TuneVerdict:
    """Return a whole study around a confirmation."""
    spreads = [0.061, 0.055, 0.058, 0.034, None, 0.012, 0.0135, 0.0041, 0.0028, 0.0035]
    tried = ["the machine as it is", *(f"add {knob}" for knob in "abcdefghi")]
    accepted = {0, 1, 3, 5, 7, 8}
    tune_verdict = TuneVerdict(
        kind="tune",
        study=12,
        host="bench1",
        programs=programs,
        method="anneal",
        objective="cv",
        stopped=Stopped.KNOWN,
        confidence=0.95,
        seed=7,
        elapsed_ns=3_200_000_000_000,
        search_runs=450,
        confirm_runs=sum(arm.runs for arm in judged.arms),
        settings=judged.settings.to_json(),
        chosen=judged.chosen.to_json(),
        trials=tuple(
            Trial(number + 1, why, {"nice": -number}, 45, spread, number in accepted)
            for number, (why, spread) in enumerate(zip(tried, spreads, strict=True))
        ),
        arms=judged.arms,
        comparisons=judged.comparisons,
        contributions=judged.contributions,
        droppable=judged.droppable,
        margin=margin,
        transfer=(
            Transfer("hmmsearch", "hmmsearch", Interval(17.8, 14.5, 21.8)),
            Transfer("git status", "hmmsearch", Interval(0.6, 0.5, 0.75)),
            Transfer("git status", "git status", Interval(1.2, 1.05, 1.4)),
        ),
        excluded=(Excluded("isolation", "takes effect at the next boot"),),
        findings=(*judged.findings, Finding("waiting", "A finding with ±1 % in it.", {"runs": 5}, programs[0])),
    )
    return replace(tune_verdict, sentence=sentences.verdict(tune_verdict))
