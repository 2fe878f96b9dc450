"""becalm: measure and compare programs on Linux so that the answer can be trusted.

    import becalm
    verdict = becalm.compare(["gzip -1 -c FILE", "gzip -9 -c FILE"], budget="10s")
    print(verdict.sentence)

Names are loaded on first use, so that importing becalm costs nothing. Errors are in `becalm.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from becalm._version import VERSION as __version__

if TYPE_CHECKING:
    from becalm.errors import BecalmError, MachineError, StoreError, UsageError, WorkloadError
    from becalm.load.explanation import Explanation
    from becalm.load.run_report import Watched
    from becalm.nouns.diagnosis import Diagnosis
    from becalm.nouns.knob import Knob
    from becalm.nouns.run import Run
    from becalm.nouns.settings import Settings
    from becalm.nouns.settings_change import ApplyResult, Reset, Status
    from becalm.nouns.study import Study
    from becalm.nouns.tune_verdict import TuneVerdict
    from becalm.nouns.verdict import Difference, Finding, Summary, Verdict
    from becalm.nouns.workload import Workload
    from becalm.profiles import Profile
    from becalm.store import Store
    from becalm.study.multi_host import compare_on, run_on
    from becalm.study.transfer import tune_on
    from becalm.verbs.compare import compare
    from becalm.verbs.doctor import doctor
    from becalm.verbs.explain import explain
    from becalm.verbs.run import run
    from becalm.verbs.settings import apply, reset, status
    from becalm.verbs.survey import survey
    from becalm.verbs.tune import tune
    from becalm.verbs.watch_run import watch

_HOMES = {
    "BecalmError": "becalm.errors",
    "MachineError": "becalm.errors",
    "StoreError": "becalm.errors",
    "UsageError": "becalm.errors",
    "WorkloadError": "becalm.errors",
    "Run": "becalm.nouns.run",
    "Settings": "becalm.nouns.settings",
    "Study": "becalm.nouns.study",
    "Workload": "becalm.nouns.workload",
    "Store": "becalm.store",
    "Diagnosis": "becalm.nouns.diagnosis",
    "Explanation": "becalm.load.explanation",
    "ApplyResult": "becalm.nouns.settings_change",
    "Reset": "becalm.nouns.settings_change",
    "Status": "becalm.nouns.settings_change",
    "Knob": "becalm.nouns.knob",
    "Profile": "becalm.profiles",
    "TuneVerdict": "becalm.nouns.tune_verdict",
    "apply": "becalm.verbs.settings",
    "reset": "becalm.verbs.settings",
    "status": "becalm.verbs.settings",
    "tune": "becalm.verbs.tune",
    "watch": "becalm.verbs.watch_run",
    "Watched": "becalm.load.run_report",
    "compare": "becalm.verbs.compare",
    "compare_on": "becalm.study.multi_host",
    "run_on": "becalm.study.multi_host",
    "tune_on": "becalm.study.transfer",
    "survey": "becalm.verbs.survey",
    "doctor": "becalm.verbs.doctor",
    "explain": "becalm.verbs.explain",
    "run": "becalm.verbs.run",
    "Difference": "becalm.nouns.verdict",
    "Finding": "becalm.nouns.verdict",
    "Summary": "becalm.nouns.verdict",
    "Verdict": "becalm.nouns.verdict",
}

__all__ = [
    "ApplyResult", "BecalmError", "Diagnosis", "Difference", "Explanation", "Finding", "Knob", "MachineError",
    "Profile", "Reset", "Run", "Settings", "Status", "Store", "StoreError", "Study", "Summary", "TuneVerdict",
    "UsageError", "Verdict", "Watched", "Workload", "WorkloadError", "__version__", "apply", "compare", "compare_on",
    "doctor", "explain", "reset", "run", "run_on", "status", "survey", "tune", "tune_on", "watch",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'becalm' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
